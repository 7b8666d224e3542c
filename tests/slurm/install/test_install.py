"""What is installed: shown as a diff first, fit for the programs that read it, known afterwards, and removed without a trace."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar.cli import main

ORDER = ["slurm", "install", "--partition=gpu", "--results=/shared/near far", "--user=nearfar", "--slurm-version=23.11"]
ALL = {
    "etc/nearfar/nightly": 0o755, "etc/nearfar/act": 0o755, "etc/nearfar/collect": 0o755, "etc/nearfar/health-check": 0o755,
    "etc/nearfar/prolog": 0o755, "etc/nearfar/epilog": 0o755, "etc/nearfar/slurm.conf.example": 0o644,
    "etc/systemd/system/nearfar-nightly.service": 0o644, "etc/systemd/system/nearfar-nightly.timer": 0o644,
    "etc/systemd/system/nearfar-act.service": 0o644, "etc/systemd/system/nearfar-act.timer": 0o644,
    "etc/nearfar/installed.json": 0o644,
}  # fmt: skip


def listing(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """The command with a directory for ``/``; its exit code and all that it said."""
    monkeypatch.delenv("SLURM_CONF", raising=False)

    def run(*words: str, order: list[str] = ORDER) -> tuple[int, str]:
        code = main([*order, f"--root={tmp_path}", *words])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


Install = Callable[..., tuple[int, str]]


def test_nothing_is_written_before_it_was_shown(tmp_path: Path, install: Install) -> None:
    code, said = install()
    assert code == 0 and listing(tmp_path) == {}
    assert "+OnCalendar=*-*-* 02:30:00" in said and "11 files would be written: --apply writes them" in said
    assert install("--apply")[0] == 0
    assert listing(tmp_path) == ALL
    assert install() == (0, "nothing to change\n")


def test_a_change_is_shown_alone(install: Install) -> None:
    install("--apply")
    said = install("--at=01:15")[1]
    changed = [line for line in said.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == [
        "-Description=nearfar: the nightly run, at 02:30", "+Description=nearfar: the nightly run, at 01:15",
        "-OnCalendar=*-*-* 02:30:00", "+OnCalendar=*-*-* 01:15:00",
    ]  # fmt: skip


def test_what_is_installed_is_what_its_readers_take(tmp_path: Path, install: Install) -> None:
    install("--apply", "--timer=cron", "--nightly=--sbatch=--qos=low", "--act=--system=mine", "--every=7")
    scripts = [tmp_path / path for path, mode in ALL.items() if mode == 0o755 and not path.endswith("health-check")]
    assert subprocess.run(["shellcheck", *scripts]).returncode == 0
    nightly = (tmp_path / "etc/nearfar/nightly").read_text()
    assert "'--results=/shared/near far'" in nightly and "--sbatch=--qos=low" in nightly
    assert (
        nightly.index("slurm sweep --idle --partition=gpu")
        < nightly.index("history --compact")
        < nightly.index('exit "$code"')
    )
    act = (tmp_path / "etc/nearfar/act").read_text()
    assert (
        "slurm act '--results=/shared/near far' --health=/var/lib/nearfar/health-of-nodes" in act
        and "--system=mine" in act
    )
    compile((tmp_path / "etc/nearfar/health-check").read_text(), "health-check", "exec")
    cron = (tmp_path / "etc/cron.d/nearfar-nightly").read_text().splitlines()
    assert cron[-1] == "30 2 * * * nearfar /etc/nearfar/nightly"
    cron = (tmp_path / "etc/cron.d/nearfar-act").read_text().splitlines()
    both = "(/etc/nearfar/collect; runuser -u nearfar -- /etc/nearfar/act)"
    assert cron[-1] == f"*/7 * * * * root {both} 2>&1 | logger -t nearfar-act", "findings come before they are read"
    install("--apply", "--health-output=/shared/health")
    cron = (tmp_path / "etc/cron.d/nearfar-act").read_text().splitlines()
    assert cron[-1] == "*/7 * * * * nearfar /etc/nearfar/act 2>&1 | logger -t nearfar-act"


def test_scripts_have_slurm_as_the_installing_machine_has_it(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = tmp_path / "opt" / "slurm"
    slurm.mkdir(parents=True)
    (slurm / "scontrol").write_text("#!/bin/sh\necho slurm 24.05.1\n")
    (slurm / "scontrol").chmod(0o755)
    (tmp_path / "slurm.conf").touch()
    monkeypatch.setenv("PATH", f"{slurm}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    assert install("--apply", order=ORDER[:-1])[0] == 0
    for name in ("nightly", "act", "collect"):
        text = (tmp_path / "etc/nearfar" / name).read_text()
        assert f"export PATH={slurm}:/usr/local/bin:" in text and f"export SLURM_CONF={tmp_path}/slurm.conf" in text
    assert "Slurm 24.05" in (tmp_path / "etc/nearfar/slurm.conf.example").read_text()


def test_text_files_for_prometheus(tmp_path: Path, install: Install) -> None:
    assert "NEARFAR_METRICS" not in install()[1]
    code, said = install("--apply", "--metrics=/var/lib/node exporter")
    assert code == 0 and "node_exporter --collector.textfile.directory=/var/lib/node exporter on every machine" in said
    for name in ("nightly", "act"):
        assert "export NEARFAR_METRICS='/var/lib/node exporter'\n" in (tmp_path / "etc/nearfar" / name).read_text()
    assert 'metrics="/var/lib/node exporter",' in (tmp_path / "etc/nearfar/health-check").read_text()
    assert install("--metrics=/var/lib/node exporter") == (0, "nothing to change\n")


def test_findings_in_a_directory_that_all_share_need_no_collector(tmp_path: Path, install: Install) -> None:
    said = install("--apply", "--health-output=/shared/health")[1]
    assert not (tmp_path / "etc/nearfar/collect").exists()
    assert "collect" not in (tmp_path / "etc/systemd/system/nearfar-act.service").read_text()
    assert "--health=/shared/health" in (tmp_path / "etc/nearfar/act").read_text()
    assert "every node writes its findings to /shared/health, where act reads them" in said


@pytest.mark.skipif(shutil.which("flock") is None or shutil.which("xargs") is None, reason="no flock or no xargs")
def test_the_collector_lets_a_node_speak_for_itself_alone(tmp_path: Path, install: Install) -> None:
    tools, collected = tmp_path / "tools", tmp_path / "collected"
    tools.mkdir()
    (tools / "sinfo").write_text("#!/bin/sh\nprintf 'host1 n1\\nhost2 n2\\nhost1 n1\\n'\n")
    (tools / "rsync").write_text(
        f'#!/bin/sh\nfor word; do echo "$word"; done >>{tmp_path}/asked\ncase "$*" in *host2*) exit 12;; esac\n'
    )
    for path in tools.iterdir():
        path.chmod(0o755)
    install("--apply", f"--collect={collected}", f"--slurm-bin={tools}")
    done = subprocess.run([tmp_path / "etc/nearfar/collect"], env={}, capture_output=True, text=True)
    assert done.stderr == "" and collected.is_dir()
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked.count("host1:/var/lib/nearfar/health/") == 1 and asked.count("host2:/var/lib/nearfar/health/") == 1
    assert "--include=/n1.json" in asked and "--include=/kept/n2/*.json" in asked and "--exclude=*" in asked


def test_a_file_that_somebody_has_edited_is_kept(tmp_path: Path, install: Install) -> None:
    install("--apply")
    act = tmp_path / "etc/nearfar/act"
    act.write_text(act.read_text() + "# mine\n")
    code, said = install("--apply", "--every=9")
    assert code == 0 and "-# mine" in said and f"{act}: kept: edited" in said and act.read_text().endswith("# mine\n")
    assert "OnUnitInactiveSec=9min" in (tmp_path / "etc/systemd/system/nearfar-act.timer").read_text()
    assert "act: kept: edited" in install("--apply")[1]
    install("--apply", "--force")
    assert not act.read_text().endswith("# mine\n")
    assert install() == (0, "nothing to change\nas installed: --every=9\n")


def test_what_was_there_before_is_not_taken_over(tmp_path: Path, install: Install) -> None:
    (tmp_path / "etc/nearfar").mkdir(parents=True)
    (tmp_path / "etc/nearfar/prolog").write_text("theirs\n")
    assert "prolog: kept" in install("--apply")[1]
    install("--remove", "--apply", "--force")
    assert listing(tmp_path) == {"etc/nearfar/prolog": 0o644}
    assert (tmp_path / "etc/nearfar/prolog").read_text() == "theirs\n"


def test_bytes_that_are_no_text(tmp_path: Path, install: Install) -> None:
    install("--apply")
    (tmp_path / "etc/nearfar/epilog").write_bytes(b"#!/bin/sh\n\xff\xfe\n")
    code, said = install("--apply")
    assert code == 0 and "epilog: kept: edited" in said
    assert (tmp_path / "etc/nearfar/epilog").read_bytes() == b"#!/bin/sh\n\xff\xfe\n"


def test_an_umask_that_lets_a_group_write(tmp_path: Path, install: Install) -> None:
    before = os.umask(0o002)
    try:
        install("--apply")
    finally:
        os.umask(before)
    assert (tmp_path / "etc/nearfar").stat().st_mode & 0o777 == 0o755
    assert listing(tmp_path) == ALL


def test_parts_come_and_go_by_themselves(tmp_path: Path, install: Install) -> None:
    install("--apply", "--what", "nightly")
    assert set(listing(tmp_path)) == {path for path in ALL if "nightly" in path or "installed" in path}
    install("--apply", "--what", "prolog")
    assert {"etc/nearfar/health-check", "etc/nearfar/prolog", "etc/nearfar/nightly"} < set(listing(tmp_path))
    install("--apply", "--what", "nightly", "--timer=cron")
    assert "etc/cron.d/nearfar-nightly" in listing(tmp_path), "no night begins twice"
    assert not [path for path in listing(tmp_path) if "systemd" in path]
    install("--remove", "--apply", "--what", "health", "prolog")
    assert set(listing(tmp_path)) == {"etc/nearfar/nightly", "etc/nearfar/installed.json", "etc/cron.d/nearfar-nightly"}
    assert install("--remove", "--apply", order=ORDER[:2])[0] == 0
    assert listing(tmp_path) == {} and not (tmp_path / "etc/nearfar").exists()


def test_half_an_installation_is_made_whole(tmp_path: Path, install: Install) -> None:
    install("--apply")
    (tmp_path / "etc/nearfar/epilog").unlink()
    (tmp_path / "etc/nearfar/prolog").chmod(0o644)
    assert "2 files would be written" in install()[1]
    install("--apply")
    assert listing(tmp_path) == ALL


def test_an_enabled_timer_is_not_removed_under_systemd(tmp_path: Path, install: Install) -> None:
    install("--apply")
    wants = tmp_path / "etc/systemd/system/timers.target.wants"
    wants.mkdir()
    (wants / "nearfar-act.timer").symlink_to("/etc/systemd/system/nearfar-act.timer")
    code, said = install("--remove", "--apply")
    assert code == 2 and "first: systemctl disable --now nearfar-act.timer" in said
    assert set(ALL) <= set(listing(tmp_path))


@pytest.mark.parametrize("text", ["{", '{"schema": "other"}', '{"schema": "nearfar-install/1", "parts": {"act": {}}}'])
def test_a_damaged_list_of_what_is_installed(tmp_path: Path, install: Install, text: str) -> None:
    install("--apply")
    (tmp_path / "etc/nearfar/installed.json").write_text(text)
    code, said = install("--apply")
    assert code == 3 and "installed.json: not what nearfar slurm install wrote" in said and "Traceback" not in said


def test_what_is_left_to_do_is_said(tmp_path: Path, install: Install) -> None:
    said = install("--apply", "--prolog=fail")[1]
    for words in (
        "install -d -o nearfar -m 0755 '/shared/near far'", "systemctl enable --now nearfar-nightly.timer nearfar-act.timer",
        "sacctmgr modify user nearfar set adminlevel=operator", "Prolog=/etc/nearfar/prolog", "trusted: [root, nearfar]",
        "every node needs /etc/nearfar/health-check, /etc/nearfar/prolog, /etc/nearfar/epilog",
    ):  # fmt: skip
        assert words in said


def test_slurms_present_settings_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With directories in place of / that are real: what is to be made is made, and what is another's is left."""
    tools = tmp_path / "bin"
    tools.mkdir()
    config = "Configuration data as of now\nClusterName = x\nProlog                  = /etc/slurm/prolog.sh\nPrologFlags = X11\n"
    (tools / "scontrol").write_text(f"#!/bin/sh\n[ $1 = --version ] && echo slurm 23.11 || echo '{config}'\n")
    (tools / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_CONF", raising=False)
    folder = tmp_path / "etc"
    order = [
        "slurm",
        "install",
        "--partition=gpu",
        f"--results={tmp_path}/results",
        "--user=nobody",
        f"--folder={folder}",
    ]
    assert main([*order, "--what", "prolog", "--apply"]) == 0
    said = capsys.readouterr().out
    assert (
        f"slurm.conf: Prolog={folder}/prolog    # now: /etc/slurm/prolog.sh; to keep both, call {folder}/prolog from it"
        in said
    )
    assert "slurm.conf: PrologFlags=X11,Alloc    # now: X11" in said
    assert "HealthCheckProgram" in said and "# now: not set" in said


@pytest.mark.parametrize("answer", ["sleep 60", "echo rubbish", "exit 1", "echo; echo slurm 19.05"])
def test_a_slurm_that_answers_with_rubbish_or_not_at_all(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\n{answer}\n")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setattr("nearfar.commands.slurm.install._PATIENCE", 0.3)
    code, said = install(f"--slurm-bin={tmp_path}", order=ORDER[:-1])
    assert code in (2, 3) and "Traceback" not in said
    assert len(said.splitlines()) == 1 and "or Slurm's version (--slurm-version 23.11)" in said


def test_a_machine_without_slurm(tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said = install(order=ORDER[:-1])
    assert code == 2 and said.startswith("nearfar: scontrol: not found") and "--slurm-bin DIR" in said
    assert install("--apply")[0] == 0


def test_directories_are_made_for_those_who_need_them(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives directories away")
    from nearfar.slurm.install import InstallOptions, directories

    options = InstallOptions(
        partition="gpu", results=str(tmp_path / "near far"), user="nobody", act_user="root", version=(23, 11),
        state=str(tmp_path / "state"), collect=str(tmp_path / "collected"),
    )  # fmt: skip
    assert directories.make(options) == []
    status = (tmp_path / "near far").stat()
    assert (status.st_uid, status.st_mode & 0o777) == (65534, 0o755)
    os.chown(tmp_path / "near far", 12345, 12345)
    (tmp_path / "state").chmod(0o777)
    said = directories.make(options)
    assert f"near far: belongs to user 12345, not to nobody; chown nobody '{tmp_path}/near far'" in said[0]
    assert "state: others can write to it (mode 0777)" in said[1] and "chmod go-w" in said[1]
    assert (tmp_path / "near far").stat().st_uid == 12345 and len(said) == 2


@pytest.mark.parametrize("version, line", [("22.05", "ends it at 60 s"), ("26.05.1", "HealthCheckTimeout=60")])
def test_slurm_conf_has_what_its_version_knows(tmp_path: Path, install: Install, version: str, line: str) -> None:
    install(f"--slurm-version={version}", "--apply", order=ORDER[:-1])
    assert line in (tmp_path / "etc/nearfar/slurm.conf.example").read_text()


@pytest.mark.parametrize("words, told", [
    (["--user=root"], "nightly runs submit jobs, for which nobody needs root"), (["--user=a b"], "--user a b: not the name of a user"),
    (["--at=25:00"], "--at 25:00: expected HH:MM"), (["--folder=/etc/near far"], "--folder: /etc/near far: an absolute path of"),
    (["--slurm-version=21.08"], "expected a version from 22.05 on"), (["--partition=a;b"], "--partition a;b: not the name of a partition"),
    (["--diff", "--apply"], "--diff shows, --apply writes"), (["--every=0"], "--every"), (["--every=60"], "--every"),
    (["--health-output=/a b"], "--health-output: /a b: an absolute path of"), (["--results=/a\nb"], "--results: "),
    (["--remove"], "nothing that is known was installed here"),
])  # fmt: skip
def test_wrong_use(tmp_path: Path, install: Install, words: list[str], told: str) -> None:
    code, said = install(*words)
    assert code == 2 and told in said and listing(tmp_path) == {}


def test_what_it_cannot_do_without(install: Install) -> None:
    assert install(order=ORDER[:2])[0] == 2
    assert "--results: needed" in install(order=ORDER[:3])[1]


def test_a_place_that_cannot_be_written(tmp_path: Path, install: Install) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/systemd").write_text("no directory")
    code, said = install("--apply")
    assert code == 3 and "cannot be written" in said.splitlines()[-1] and "Traceback" not in said
    (tmp_path / "etc/systemd").unlink()
    assert install("--apply")[0] == 0 and listing(tmp_path) == ALL


def test_a_sites_own_template_comes_first(tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site/templates/slurm"
    folder.mkdir(parents=True)
    (folder / "nightly.j2").write_text("#!/bin/bash\nlogger nearfar {{ partition }}\n")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    install("--apply")
    assert (tmp_path / "etc/nearfar/nightly").read_text().endswith("logger nearfar gpu\n")
    (folder / "nightly.j2").write_text("{{ partitoin }}")
    code, said = install()
    assert code == 2 and "template nightly.j2: 'partitoin' is undefined" in said


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_takes_the_units(tmp_path: Path, install: Install) -> None:
    install("--apply")
    units = [str(path) for path in (tmp_path / "etc/systemd/system").iterdir()]
    said = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True).stderr
    # That its script is not in place on this machine is no fault of the unit.
    assert not any(words in said for words in ("Unknown", "Failed to parse", "Invalid", "Missing")), said


def test_what_was_installed_is_written_down(tmp_path: Path, install: Install) -> None:
    install("--apply")
    written = json.loads((tmp_path / "etc/nearfar/installed.json").read_text())
    assert written["schema"] == "nearfar-install/1" and set(written["parts"]) == {
        "nightly",
        "act",
        "health",
        "prolog",
        "epilog",
    }
    paths = {path.lstrip("/") for part in written["parts"].values() for path in part["files"]}
    assert paths == set(ALL) - {"etc/nearfar/installed.json"}


def test_programs_are_told_what_changes_and_what_was_changed(tmp_path: Path, install: Install) -> None:
    def told(*words: str) -> dict[str, Any]:
        code, said = install("--json", *words)
        assert code == 0, said
        return dict(json.loads(said))

    shown = told()
    assert (shown["changed"], shown["applied"], listing(tmp_path)) == (True, False, {})
    assert {file["path"] for file in shown["files"]} == {
        str(tmp_path / name) for name in ALL if "installed" not in name
    }
    assert told("--apply")["changed"] and listing(tmp_path) == ALL
    again = told("--apply")
    assert (again["changed"], again["files"]) == (False, []) and any(
        "slurm.conf" in step for step in again["left_to_do"]
    )
    assert not told()["changed"]
    # The same files by another account of them.
    assert told("--user=other")["changed"] and told("--act-user=nearfar")["changed"] is False
    later = told("--at=01:15")
    assert [file["action"] for file in later["files"]] == ["write"] and "01:15" in str(later["files"])
    edited = tmp_path / "etc/nearfar/act"
    edited.write_text("#!/bin/sh\n")
    assert [(file["path"], file["kept"]) for file in told()["files"]] == [(str(edited), True)] and not told()["changed"]
    assert told("--force", "--apply")["changed"]
    assert told("--remove")["changed"] and listing(tmp_path) == ALL
    assert told("--remove", "--apply")["changed"] and listing(tmp_path) == {}
    assert not told("--remove", "--apply")["changed"], "a second time there is nothing"


def test_a_missing_directory_is_a_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, user = tmp_path / "etc", pwd.getpwuid(os.geteuid()).pw_name
    monkeypatch.setattr("nearfar.slurm.install.rendering._UNITS", str(tmp_path / "units"))
    words = ["slurm", "install", "--partition=gpu", f"--results={tmp_path}/results", "--user=nobody", f"--act-user={user}",
             "--slurm-version=23.11", f"--folder={folder}", f"--state={tmp_path}/state", f"--collect={tmp_path}/found",
             "--what", "act", "--json"]  # fmt: skip

    def told(*more: str) -> dict[str, Any]:
        assert main([*words, *more]) == 0
        return dict(json.loads(capsys.readouterr().out))

    assert told()["changed"] and told("--apply")["changed"]
    (tmp_path / "results").chmod(0o700)  # its mode is told, not changed
    assert not told()["changed"]
    shutil.rmtree(tmp_path / "found")
    assert (told()["changed"], told()["directories"]) == (True, [str(tmp_path / "found")])
