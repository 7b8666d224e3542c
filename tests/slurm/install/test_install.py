"""What is installed: shown as a diff first, fit for the programs that read it, and the same when it is typed again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar.cli import main

ORDER = ["slurm", "install", "--partition=gpu", "--results=/shared/near far"]
SCRIPTS = ("nightly", "act", "health-check", "prolog", "epilog")
ALL = {
    **{f"etc/nearfar/{name}": 0o755 for name in SCRIPTS}, "etc/nearfar/slurm.conf.example": 0o644, "etc/nearfar/installed.json": 0o644,
    "etc/systemd/system/nearfar-nightly.service": 0o644, "etc/systemd/system/nearfar-nightly.timer": 0o644,
    "etc/systemd/system/nearfar-act.service": 0o644, "etc/systemd/system/nearfar-act.timer": 0o644,
}  # fmt: skip
HEALTH = "--health-output=/shared/health"


def listing(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


class Machine:
    """The command with a directory for ``/``."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys

    def __call__(self, *words: str, order: list[str] = ORDER) -> tuple[int, str]:
        """The exit code and everything that it printed."""
        code = main([*order, f"--root={self.root}", *words])
        printed = self._capsys.readouterr()
        return code, printed.out + printed.err

    def again(self, *words: str) -> str:
        """Typed again with these options alone."""
        code, printed = self(*words, order=ORDER[:2])
        assert code == 0, printed
        return printed

    def text(self, name: str) -> str:
        return (self.root / "etc" / name).read_text()


@pytest.fixture
def install(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name in ("SLURM_CONF", "NEARFAR_SITE", "NEARFAR_METRICS", "NEARFAR_STATE"):
        monkeypatch.delenv(name, raising=False)
    return Machine(tmp_path / "root", capsys)


def test_shows_before_it_writes(install: Machine) -> None:
    code, printed = install(HEALTH)
    assert code == 0 and not install.root.exists()
    assert "+OnCalendar=*-*-* 02:30:00" in printed and "11 files would change: add --apply" in printed
    assert install(HEALTH, "--apply")[0] == 0 and listing(install.root) == ALL
    assert install(HEALTH) == (0, "nothing to change\n")


def test_shows_only_what_changes(install: Machine) -> None:
    install(HEALTH, "--apply")
    printed = install.again("--at=01:15")
    changed = [line for line in printed.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == [
        "-Description=nearfar: the nightly run, at 02:30", "+Description=nearfar: the nightly run, at 01:15",
        "-OnCalendar=*-*-* 02:30:00", "+OnCalendar=*-*-* 01:15:00", '-  "at": "02:30",', '+  "at": "01:15",',
    ]  # fmt: skip


def test_one_user_measures_and_another_drains(install: Machine) -> None:
    install(HEALTH, "--apply")
    assert "\nUser=nearfar\n" in install.text("systemd/system/nearfar-nightly.service")
    assert "\nUser=root\n" in install.text("systemd/system/nearfar-act.service")


def test_callers_modules_never_reach_the_scripts(
    tmp_path: Path, install: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "alice" / "nearfar").mkdir(parents=True)
    for name in ("nearfar/__init__.py", "argparse.py", "sitecustomize.py"):
        (tmp_path / "alice" / name).write_text("raise SystemExit('alice')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "alice"))
    install(HEALTH, "--apply")
    for path in listing(install.root):
        assert str(tmp_path) not in (install.root / path).read_text()
    for name in SCRIPTS[1:]:
        assert "PYTHONPATH" not in install.text(f"nearfar/{name}")
    act = [install.root / "etc/nearfar/act", "--help"]
    done = subprocess.run(act, cwd=tmp_path / "alice", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("usage: nearfar slurm act")
    nightly = subprocess.run(
        [install.root / "etc/nearfar/nightly", "--help"], env={}, cwd="/", capture_output=True, text=True
    )
    assert "usage: nearfar slurm sweep" in nightly.stdout


def test_nightly_waits_for_no_backup_controller(tmp_path: Path, install: Machine) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\necho 'Slurmctld(primary) at a is UP'\necho 'Slurmctld(backup) at b is DOWN'\n")
    scontrol.chmod(0o755)
    install(f"--slurm-bin={tmp_path}", "--apply")
    nightly = [install.root / "etc/nearfar/nightly", "--help"]
    assert "usage:" in subprocess.run(nightly, env={}, capture_output=True, text=True, timeout=30).stdout


def test_scripts_are_what_their_readers_take(install: Machine) -> None:
    words = ("--nightly=--sbatch=--qos=low", "--act=--system=mine", "--every=7")
    install(HEALTH, *words, "--apply")
    scripts = [install.root / "etc/nearfar" / name for name in SCRIPTS if name != "health-check"]
    assert subprocess.run(["shellcheck", *scripts]).returncode == 0
    nightly, act = install.text("nearfar/nightly"), install.text("nearfar/act")
    assert (
        "slurm sweep --idle --partition=gpu '--results=/shared/near far'" in nightly and "--sbatch=--qos=low" in nightly
    )
    expected = (
        "slurm act '--results=/shared/near far' --health=/shared/health --state=/var/lib/nearfar/act --system=mine"
    )
    assert expected in act
    compile(install.text("nearfar/health-check"), "health-check", "exec")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_takes_the_units(install: Machine) -> None:
    install(HEALTH, "--metrics=/var/lib/node exporter", "--state=/srv/50%", "--apply")
    units = [str(path) for path in (install.root / "etc/systemd/system").iterdir()]
    printed = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True).stderr
    # That its script is not in place on this machine is no fault of the unit.
    assert not any(words in printed for words in ("Unknown", "Failed to parse", "Invalid", "Missing", "ignoring")), (
        printed
    )
    act, nightly = (install.text(f"systemd/system/nearfar-{name}.service") for name in ("act", "nightly"))
    for line in (
        "ProtectSystem=strict",
        "ProtectHome=read-only",
        "CapabilityBoundingSet=",
        "NoNewPrivileges=yes",
        "PrivateTmp=yes",
    ):
        assert f"\n{line}\n" in act and f"\n{line}\n" in nightly
    assert 'ReadWritePaths="-/srv/50%%" "-/var/lib/node exporter"\n' in act and '"-/shared/near far"' in nightly
    assert "/shared/near far" not in act and "StateDirectory" not in act, "act only reads results"
    install.again("--state=/var/lib/nearfar/act", "--metrics=", "--apply")
    act = install.text("systemd/system/nearfar-act.service")
    assert "\nStateDirectory=nearfar/act\n" in act and "ReadWritePaths" not in act


def test_options_stay_until_they_are_named(install: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as here:
        here.setenv("NEARFAR_STATE", "/srv/state of nightly")
        install(HEALTH, "--metrics=/srv/metrics", "--state=/srv/act", "--nightly=--sbatch=--qos=low", "--apply")
    assert install.again() == "nothing to change\n"
    install.again("--every=3", "--user=other", "--apply")
    assert "OnUnitInactiveSec=3min" in install.text("systemd/system/nearfar-act.timer")
    assert "--health=/shared/health --state=/srv/act" in install.text("nearfar/act")
    assert "export NEARFAR_METRICS=/srv/metrics\n" in install.text("nearfar/act")
    assert 'metrics="/srv/metrics",' in install.text("nearfar/health-check")
    nightly = install.text("nearfar/nightly")
    assert "--sbatch=--qos=low" in nightly and "export NEARFAR_STATE='/srv/state of nightly'\n" in nightly
    monkeypatch.setenv("NEARFAR_STATE", "")
    install.again("--metrics=", "--apply")
    assert "NEARFAR_" not in install.text("nearfar/act") and "metrics" not in install.text("nearfar/health-check")


def test_findings_go_beside_the_results_unless_named(install: Machine) -> None:
    install("--apply", order=[*ORDER[:3], "--results=/shared/nearfar"])
    assert "--health=/shared/nearfar-health" in install.text("nearfar/act")
    assert 'output="/shared/nearfar-health"' in install.text("nearfar/health-check")


def test_parts_that_are_not_named_are_removed(install: Machine) -> None:
    install(HEALTH, "--what", "prolog", "--apply")
    node = {f"etc/nearfar/{name}" for name in ("prolog", "health-check", "slurm.conf.example", "installed.json")}
    assert set(listing(install.root)) == node
    install.again("--what", "nightly", "--apply")
    night = {"etc/nearfar/nightly", "etc/nearfar/installed.json"}
    night |= {f"etc/systemd/system/nearfar-nightly.{kind}" for kind in ("service", "timer")}
    assert set(listing(install.root)) == night


def test_makes_a_damaged_or_interrupted_installation_whole(install: Machine) -> None:
    install(HEALTH, "--apply")
    nearfar = install.root / "etc/nearfar"
    (nearfar / "epilog").unlink()
    (nearfar / "prolog").chmod(0o644)
    (nearfar / "act").write_bytes(b"#!/bin/sh\n\xff\xfe\n")
    printed = install.again()
    assert "3 files would change" in printed and "prolog: mode 0755" in printed
    before = os.umask(0o002)
    try:
        install.again("--apply")
    finally:
        os.umask(before)
    assert listing(install.root) == ALL and nearfar.stat().st_mode & 0o777 == 0o755


def test_scripts_have_the_callers_slurm(tmp_path: Path, install: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    slurm = tmp_path / "opt" / "slurm"
    slurm.mkdir(parents=True)
    (slurm / "scontrol").touch(0o755)
    monkeypatch.setenv("PATH", f"{slurm}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    install(HEALTH, "--apply")
    for name in ("nightly", "act"):
        text = install.text(f"nearfar/{name}")
        assert f"export PATH={slurm}:/usr/local/bin:" in text and f"export SLURM_CONF={tmp_path}/slurm.conf" in text
    assert f'os.environ["SLURM_CONF"] = "{tmp_path}/slurm.conf"' in install.text("nearfar/health-check")


@pytest.mark.parametrize("words, expected", [
    (["--user=root"], "nightly sweeps submit jobs, which need no root"), (["--user=a b"], "--user a b: not the name of a user"),
    (["--at=25:00"], "--at 25:00: expected HH:MM"), (["--folder=/etc/near far"], "--folder: /etc/near far: an absolute path of"),
    (["--partition=a;b"], "--partition a;b: not the name of a partition"), (["--every=0"], "--every"), (["--every=60"], "--every"),
    (["--results=/a\nb"], "--results: "),
])  # fmt: skip
def test_wrong_options_write_nothing(install: Machine, words: list[str], expected: str) -> None:
    code, printed = install(HEALTH, *words, "--apply")
    assert code == 2 and expected in printed and not install.root.exists()
    code, printed = install(order=ORDER[:3])
    assert code == 2 and "--partition and --results: needed" in printed


@pytest.mark.parametrize("damage", [
    lambda raw: b"\xff\xfe", lambda raw: b"[]", lambda raw: json.dumps({**raw, "schema": "nearfar-install/1"}).encode(),
    *(lambda raw, change=change: json.dumps({**raw, "options": {**raw["options"], **change}}).encode()
      for change in ({"every": "five"}, {"results": None}, {"timer": "sundial"}, {"user": "a b"}, {"environment": {"A": 1}}, {"new": 1})),
])  # fmt: skip
def test_a_damaged_list_is_one_line(install: Machine, damage: Callable[[dict[str, Any]], bytes]) -> None:
    install(HEALTH, "--apply")
    path = install.root / "etc/nearfar/installed.json"
    path.write_bytes(damage(json.loads(path.read_text())))
    code, printed = install("--apply")
    assert code == 3 and len(printed.splitlines()) == 1 and "not what nearfar slurm install wrote" in printed


def test_a_place_that_cannot_be_written(install: Machine) -> None:
    (install.root / "etc").mkdir(parents=True)
    (install.root / "etc/systemd").write_text("no directory")
    code, printed = install(HEALTH, "--apply")
    assert code == 3 and "cannot be written" in printed.splitlines()[-1] and "Traceback" not in printed
    (install.root / "etc/systemd").unlink()
    assert install(HEALTH, "--apply")[0] == 0 and listing(install.root) == ALL


def test_a_sites_own_template_comes_first(tmp_path: Path, install: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site/templates/slurm"
    folder.mkdir(parents=True)
    (folder / "nightly.j2").write_text("#!/bin/bash\nlogger nearfar {{ partition }}\n")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    install(HEALTH, "--apply")
    assert install.text("nearfar/nightly").endswith("logger nearfar gpu\n")
    (folder / "nightly.j2").write_text("{{ partitoin }}")
    code, printed = install()
    assert code == 2 and "template nightly.j2: 'partitoin' is undefined" in printed


def test_programs_read_what_changes(install: Machine) -> None:
    def document(*words: str) -> dict[str, Any]:
        return dict(json.loads(install(HEALTH, "--json", *words)[1]))

    shown = document()
    assert (shown["schema"], shown["changed"], shown["applied"]) == ("nearfar-install-changes/3", True, False)
    assert {file["path"] for file in shown["files"]} == {str(install.root / name) for name in ALL}
    assert document("--apply")["changed"] and listing(install.root) == ALL
    again = document("--apply")
    assert (again["changed"], again["files"]) == (False, [])
    later = document("--at=01:15")
    assert [file["action"] for file in later["files"]] == ["write", "write"] and "01:15" in str(later["files"])
    listed = json.loads(install.text("nearfar/installed.json"))["files"]
    assert {path.lstrip("/") for path in listed} == set(ALL) - {"etc/nearfar/installed.json"}
