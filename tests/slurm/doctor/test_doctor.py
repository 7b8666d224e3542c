"""The doctor: an installed site that is well, one thing wrong at a time, and that it changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar import __version__
from nearfar.base import utc_text, validator
from nearfar.cli import main
from nearfar.slurm.controller import Slurm
from nearfar.slurm.findings import ActLog
from tests.support.node_results import leave
from tests.support.private_slurm import PrivateSlurm, needed

SYSTEM = 'system: vm\nhosts: ["n[1-9]"]\nact:\n  trusted: [root]\n  default: drain\npartitions:\n  - name: gpu\n'
NODE = """\
NodeName={name} Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=1 CPUTot=1 CPULoad=0.00
   State={state} ThreadsPerCore=1
   Partitions=gpu
   LastBusyTime=2026-01-01T00:00:00

"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root's findings count, and only root becomes another user"
)


class Site:
    """An installation below a directory that stands for ``/``, and a stand-in for Slurm whose answers are files."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.root, self.results, self.state = folder, folder / "root", folder / "results", folder / "state"
        self.collected, self.bin, self._capsys = folder / "collected", folder / "bin", capsys
        for path in (folder / "site" / "systems", self.results, self.state, self.collected, self.bin, self.root):
            path.mkdir(parents=True)
        (folder / "site" / "systems" / "vm.yaml").write_text(SYSTEM)
        self.tool("crond", "exit 0")
        self.tool("rsync", "exit 0")
        self.tool("ssh", "exit 0")
        self.tool(
            "scontrol",
            f"""
echo "$*" >>{folder}/asked
case "$*" in
--version) echo slurm 23.11.4;;
*config) cat {folder}/config;;
*) cat {folder}/nodes;;
esac""",
        )
        self.config(HealthCheckProgram="/etc/nearfar/health-check", HealthCheckInterval="300 sec", HealthCheckNodeState="IDLE,CYCLE",
                    Prolog="/etc/nearfar/prolog", PrologFlags="Alloc,X11", Epilog="/etc/nearfar/epilog")  # fmt: skip
        self.nodes(n1="IDLE", n2="IDLE")
        for name in ("n1", "n2"):
            (self.collected / f"{name}.json").write_text(json.dumps(look(name)))
        (self.state / "read.json").write_text("{}")
        self.install()

    def install(self, *words: str) -> None:
        """As it should be; ``words`` change that."""
        assert main(["slurm", "install", "--partition=gpu", f"--results={self.results}", "--user=root", f"--state={self.state}",
                     f"--collect={self.collected}", f"--root={self.root}", "--timer=cron", "--apply", f"--slurm-bin={self.bin}",
                     "--what", "act", "health", "prolog", "epilog", *words]) == 0  # fmt: skip
        self._capsys.readouterr()

    def tool(self, name: str, text: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.bin / name).chmod(0o755)

    def config(self, **settings: str) -> None:
        lines = [
            "Configuration data as of 2026-11-20T09:00:00",
            "ClusterName             = x",
            "SlurmUser               = slurm(64030)",
        ]
        lines += [f"{name:<23} = {value}" for name, value in settings.items()]
        (self.folder / "config").write_text("\n".join(lines) + "\n")

    def nodes(self, **states: str) -> None:
        (self.folder / "nodes").write_text(
            "\n".join(NODE.format(name=name, state=state) for name, state in states.items())
        )

    def result(self, node: str, run: str, *, at: float, version: str = __version__) -> Path:
        place = leave(self.results, node, run, at=at)
        path = next(place.glob("*/*/verdict.json"))
        keys = ("hostname", "product", "node_type", "program", "started", "seconds", "mpi")
        measured = {**dict.fromkeys(keys), "kind": "measured", "version": version, "quick": False, "gpus": []}
        path.write_text(json.dumps({**json.loads(path.read_text()), "measurement": measured}))
        result = json.loads((place / "result.json").read_text())
        result["files"][str(path.relative_to(place))] = path.stat().st_size
        (place / "result.json").write_text(json.dumps(result))
        os.utime(place, (at, at))
        return place

    def doctor(self) -> tuple[int, dict[str, list[tuple[str, str]]]]:
        """The exit code, and by subject what is not OK."""
        self._capsys.readouterr()
        code = main(["slurm", "doctor", "--json", f"--root={self.root}"])
        said = json.loads(self._capsys.readouterr().out)
        assert [error.message for error in validator("doctor-1").iter_errors(said)] == []
        assert said["schema"] == "nearfar-doctor/1"
        found: dict[str, list[tuple[str, str]]] = {}
        for answer in said["answers"]:
            assert (answer["remedy"] is not None) == (answer["verdict"] == "problem") or answer[
                "verdict"
            ] == "not looked at"
            if answer["verdict"] != "OK":
                found.setdefault(answer["about"], []).append(
                    (answer["verdict"], f"{answer['words']} → {answer['remedy']}")
                )
        return code, found


def look(node: str) -> dict[str, object]:
    return {"schema": "nearfar-health/1", "run": f"0000000{node[-1]}", "node": node, "hostname": node, "time": utc_text(),
            "boot": None, "seconds": 0.1, "verdict": "PASS", "system": "vm", "partition": "gpu", "findings": [], "last": None}  # fmt: skip


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    # What stands on this machine stands below the root in these tests.
    monkeypatch.setattr("nearfar.slurm.doctor.directories_kept.denied", lambda user, wants: [])
    # The published files are looked at by other tests.
    monkeypatch.setattr("nearfar.slurm.doctor.site_files_clean.site_directories", lambda: [tmp_path / "site"])
    made = Site(tmp_path, capsys)
    made.result("n1", "aaaa0001", at=time.time() - 60)
    return made


def test_all_is_well(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in site.folder.rglob("*") if path.name != "asked"}
    assert main(["slurm", "doctor", f"--root={site.root}"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1].startswith("all is well (")
    assert (
        "dry walk: a GPU absent from n1 (made up): act would drain it with 'nearfar: FAIL health g0 gpu.missing run=d0c70000'"
        in said
    )
    assert {path: path.stat().st_mtime_ns for path in site.folder.rglob("*") if path.name != "asked"} == before
    asked = (site.folder / "asked").read_text()
    assert "update" not in asked and "create" not in asked


Break = Callable[[Site], object]


def edited(site: Site) -> None:
    path = site.root / "etc/nearfar/act"
    path.write_text(path.read_text() + "# mine\n")


def gone(site: Site) -> None:
    (site.root / "etc/nearfar/prolog").unlink()


def open_to_all(site: Site) -> None:
    (site.root / "etc/nearfar/epilog").chmod(0o777)


def from_the_future(site: Site) -> None:
    site.result("n2", "aaaa0002", at=time.time() + 7200)


def foreign(site: Site) -> None:
    (site.results / "theirs").mkdir()
    os.chown(site.results / "theirs", 12345, 12345)


def believed_of_nobody(site: Site) -> None:
    (site.results / "s-aaaa0001/nodes/n1/1/result.json").chmod(0o666)


def older(site: Site) -> None:
    site.result("n2", "aaaa0003", at=time.time() - 30, version="0.0.9")


def stopped(site: Site) -> None:
    line = {"schema": "nearfar-act-log/1", "time": "2026-11-20T09:00:00.000000Z", "action": "latch", "outcome": "done", "id": "1",
            "why": "too many"}  # fmt: skip
    (site.state / "log.jsonl").write_text(json.dumps(line) + "\n")


def used_up(site: Site) -> None:
    """One was drained an hour ago and released; one is down, and somebody has drained another."""
    ActLog(site.state).note("drain", time.time() - 3600, "n3", why="x", reason="x", check="health")
    system = site.folder / "site/systems/vm.yaml"
    caps = "{per_day: {nodes: 2, share: 0.3}, in_all: {nodes: 9, share: 0.9}, available: {nodes: 3}}"
    system.write_text(system.read_text().replace("  default: drain\n", f"  default: drain\n  cap: {caps}\n"))
    by = "   Reason=ticket 12 [alice@2026-11-20T09:00:00]\n"
    site.nodes(n1="IDLE", n2="DOWN", n3="IDLE", n4="IDLE+DRAIN")
    nodes = site.folder / "nodes"
    before, mine, after = nodes.read_text().partition("NodeName=n4")
    nodes.write_text(before + mine + after.replace("   LastBusyTime", by + "   LastBusyTime"))


def silent(site: Site) -> None:
    os.utime(site.collected / "n2.json", (time.time() - 86400, time.time() - 86400))


def long_ago(site: Site) -> None:
    os.utime(site.state / "read.json", (time.time() - 86400, time.time() - 86400))


def no_policy(site: Site) -> None:
    (site.folder / "site/systems/vm.yaml").write_text("system: vm\npartitions: [{name: gpu}]\n")


def slip(site: Site) -> None:
    (site.folder / "site/systems/other.yaml").write_text("systm: other\n")


@pytest.mark.parametrize("wrong, about, words", [
    (edited, "files of act", "/etc/nearfar/act: edited since it was installed"),
    (gone, "files of prolog", "/etc/nearfar/prolog: No such file or directory"),
    (open_to_all, "files of epilog", "mode 0777, expected 0755 → chmod 755 /etc/nearfar/epilog"),
    (lambda site: site.config(Prolog="/etc/slurm/mine"), "slurm.conf", "Prolog is /etc/slurm/mine → Prolog=/etc/nearfar/prolog"),
    (from_the_future, "clocks", "which is not yet"),
    (foreign, "owners of results", "theirs (user 12345)"),
    (believed_of_nobody, "results", "others can write to it (mode 0666)"),
    (older, "versions", "n2 with 0.0.9"),
    (stopped, "drains", "drains are stopped: too many → nearfar slurm status; they are really broken: nearfar slurm allow-drains"),
    (used_up, "drains", "no node more can be drained: no more than 1 of the 4 nodes of partition gpu drained within a day "
                        "(act, in use again: n3)"),
    (used_up, "drains", "at least 3 must stay (DOWN: n2; alice: n4)"),
    (used_up, "dry walk", "for the same reason as drains"),
    (lambda site: (site.folder / "site").chmod(0o777), "health check as root", "others can write to it (mode 0777)"),
    (silent, "looks of the nodes", "n2: idle, and no look in"),
    (long_ago, "last act", "24 hours ago"),
    (no_policy, "what act may do", "no file of site/systems/ says what `act` may do"),
    (slip, "site's files", "other.yaml:1"),
    (lambda site: site.results.chmod(0o777), "directory", "others can write to it (mode 0777)"),
    (lambda site: os.chown(site.state, 12345, 0), "directory", "belongs to user 12345, not to root"),
    (lambda site: site.nodes(n1="IDLE+DRAIN", n2="WHAT?"), "slurmctld", ""),
    (lambda site: (site.folder / "nodes").write_text("rubbish\n"), "slurmctld", "scontrol shows no nodes but 'rubbish'"),
    (lambda site: site.tool("scontrol", "echo slurm 19.05.1"), "Slurm", "too old"),
    (lambda site: site.tool("scontrol", "exit 1"), "Slurm", "exit code 1"),
])  # fmt: skip
def test_one_thing_is_wrong(site: Site, wrong: Break, about: str, words: str) -> None:
    wrong(site)
    code, found = site.doctor()
    if not words:  # nothing that is the installation's
        assert code == 0, found
        return
    assert code == 1 and about in found, found
    assert any(words in said and verdict == "problem" for verdict, said in found[about]), found


def test_a_slurm_that_does_not_answer_is_waited_for_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.slurm.doctor.installed_site._PATIENCE", 0.5)
    site.tool("scontrol", f"echo asked >>{site.folder}/calls; exec sleep 60")
    began = time.monotonic()
    code, found = site.doctor()
    assert time.monotonic() - began < 20 and code == 1
    assert "no answer within" in found.pop("Slurm")[0][1], "said once"
    [(verdict, words)] = found["slurm.conf, results, drains"]
    assert (verdict, words) == ("problem", "for the same reason as Slurm → fix Slurm first") and len(found) == 1, found
    assert (site.folder / "calls").read_text().count("asked") == 1
    assert "dry walk" not in found, "a node is pretended"


def test_one_cause_is_said_once(site: Site) -> None:
    no_policy(site)
    _, found = site.doctor()
    assert set(found) == {"what act may do", "owners of results, results, hooks, drains, dry walk"}, found


@pytest.mark.parametrize("busy, looks, verdict, words", [
    (600, False, "not looked at", "2 nodes of gpu idle, none of them for 30 minutes yet; no look left since"),
    (600, True, "OK", "2 nodes of gpu idle, none of them for 30 minutes yet; 2 looks left since"),
    (86400, True, "OK", "all 2 that were idle for 30 minutes left one since (2 looks in all)"),
])  # fmt: skip
def test_looks_of_nodes_that_have_just_become_idle(
    site: Site, capsys: pytest.CaptureFixture[str], busy: float, looks: bool, verdict: str, words: str
) -> None:
    since = utc_text(time.time() - busy).removesuffix("Z")
    nodes = site.folder / "nodes"
    nodes.write_text(nodes.read_text().replace("2026-01-01T00:00:00", since))
    if not looks:
        for path in site.collected.iterdir():
            path.unlink()
    main(["slurm", "doctor", f"--root={site.root}"])
    [line] = [line for line in capsys.readouterr().out.splitlines() if "looks of the nodes" in line]
    assert line == f"{verdict:<14} looks of the nodes: {words}"


@pytest.mark.parametrize("wrong", [edited, older, no_policy, slip, gone])
def test_what_to_do_can_be_typed_as_it_is(site: Site, wrong: Break) -> None:
    wrong(site)
    site.config()
    for answers in site.doctor()[1].values():
        assert not [words for _, words in answers if "…" in words.split("→")[1]]
    installed = json.loads((site.root / "etc/nearfar/installed.json").read_text())
    installed["parts"]["act"]["version"] = "0.0.1"
    (site.root / "etc/nearfar/installed.json").write_text(json.dumps(installed))
    [said] = [words for _, words in site.doctor()[1]["files of act"] if "0.0.1" in words]
    line = said.split(" → ")[1]
    assert line == f"nearfar slurm install --root={site.root} --apply"
    assert main([*line.split()[1:], "--force"]) == 0 and "files of act" not in site.doctor()[1]


def test_those_that_are_told(site: Site) -> None:
    folder, hook = site.folder / "textfiles", site.folder / "hook"
    system = site.folder / "site" / "systems" / "vm.yaml"
    system.write_text(SYSTEM.replace("  default:", f"  hooks: {{on-drain: {hook}}}\n  default:"))
    site.install(f"--metrics={folder}")
    found = site.doctor()[1]
    assert found["on-drain"] == [("problem", f"{hook}: No such file or directory → write it, or name another")]
    assert found["text files for Prometheus"] == [
        ("problem", f"{folder}: no such directory → make it, and have node_exporter read it")
    ]
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    folder.mkdir()
    assert "act has written none yet" in site.doctor()[1]["text files for Prometheus"][0][1]
    (folder / "nearfar-fleet.prom").touch()
    os.utime(folder / "nearfar-fleet.prom", (time.time() - 3600,) * 2)
    assert "60 minutes old" in site.doctor()[1]["text files for Prometheus"][0][1]
    os.utime(folder / "nearfar-fleet.prom")
    assert not {"on-drain", "text files for Prometheus"} & set(site.doctor()[1])


def test_a_wrapper_of_the_sites_own_that_calls_ours(site: Site) -> None:
    folder = site.folder / "prolog.d"
    folder.mkdir()
    (folder / "50-gpus").write_text("#!/bin/sh\n/etc/nearfar/prolog || exit 1\n")
    settings = {"HealthCheckProgram": "/etc/nearfar/health-check", "HealthCheckInterval": "60 sec", "HealthCheckNodeState": "ANY",
                "PrologFlags": "Alloc", "Epilog": "/etc/nearfar/epilog"}  # fmt: skip
    site.config(**settings, Prolog=f"{folder}/*")
    assert site.doctor() == (0, {})


def test_health_that_is_only_observed_is_the_sites_choice(site: Site) -> None:
    (site.folder / "site/systems/vm.yaml").write_text(SYSTEM.replace("default: drain", "default: observe"))
    assert site.doctor() == (0, {})


@pytest.mark.parametrize("unit, code, words", [
    ({}, 0, None),
    ({"ActiveState": "inactive"}, 1, "inactive → systemctl daemon-reload && systemctl enable --now nearfar-act.timer"),
    ({"UnitFileState": "disabled"}, 1, "gone after a reboot → systemctl enable nearfar-act.timer"),
    ({"ExecMainStatus": "3", "Result": "exit-code"}, 0, None),
    ({"ExecMainStatus": "2", "Result": "exit-code"}, 1, "exit code 2 → journalctl -u nearfar-act.service"),
    ({"Result": "timeout", "ExecMainStatus": "15"}, 1, "timeout"),
    (None, 3, "System has not been booted with systemd"),
])  # fmt: skip
def test_timers_of_systemd(site: Site, unit: dict[str, str] | None, code: int, words: str | None) -> None:
    site.install("--timer=systemd")
    first = {"Id": "nearfar-act.timer", "LoadState": "loaded", "ActiveState": "active", "UnitFileState": "enabled"}
    second = {"Id": "nearfar-act.service", "LoadState": "loaded", "ExecMainStatus": "0", "Result": "success",
              "ExecMainExitTimestamp": "Sun 2026-11-22 06:30:02 UTC"}  # fmt: skip
    if unit is None:
        site.tool("systemctl", "echo 'System has not been booted with systemd' >&2; exit 1")
    else:
        units = [{name: unit.get(name, value) for name, value in each.items()} for each in (first, second)]
        text = "\n\n".join("\n".join(f"{name}={value}" for name, value in each.items()) for each in units)
        site.tool("systemctl", f"cat <<'END'\n{text}\nEND")
    got, found = site.doctor()
    assert got == code, found
    assert words is None or words in found["timer of act"][0][1]


def test_nothing_is_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slurm", "doctor", f"--root={tmp_path}"]) == 3
    said = capsys.readouterr().err
    assert (
        "nothing is installed here that this version knows of; nearfar slurm install" in said and said.count("\n") == 1
    )


def test_what_another_user_may_not_do(tmp_path: Path) -> None:
    from nearfar.slurm.doctor.access import READ, WRITE, denied

    (tmp_path / "closed").mkdir(mode=0o700)
    wants = [("/etc/passwd", READ), (str(tmp_path / "closed"), READ), ("/etc", WRITE)]
    assert denied("nobody", wants) == wants[1:]
    assert denied("root", wants) == []


@pytest.mark.slurm
def test_with_a_real_slurm(site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings and nodes are read as they are, and no node is other than before."""
    needed()
    (site.bin / "scontrol").unlink()
    settings = {"Epilog": "/etc/nearfar/epilog", "HealthCheckProgram": "/bin/true", "HealthCheckInterval": "60"}
    with PrivateSlurm(cpus=1, gpus=0, nodes=2, settings=settings) as private:
        monkeypatch.setenv("SLURM_CONF", private.environment["SLURM_CONF"])
        monkeypatch.setenv("PATH", private.environment["PATH"])
        scontrol = shutil.which("scontrol")
        assert scontrol is not None
        (site.bin / "scontrol").symlink_to(scontrol)
        assert main(["slurm", "install", "--partition=all", f"--results={site.results}", "--user=root", f"--state={site.state}",
                     f"--collect={site.collected}", f"--root={site.root}", "--timer=cron", "--apply",
                     "--what", "act", "health", "prolog", "epilog"]) == 0  # fmt: skip
        act = subprocess.run([site.root / "etc/nearfar/act", "--dry-run"], env={}, capture_output=True, text=True)
        assert (act.returncode, act.stdout) == (0, "vm: nothing to do\n"), act
        before = {name: node.words for name, node in Slurm(private.environment).nodes().items()}
        code, found = site.doctor()
        assert code == 1 and set(found) == {"slurm.conf"}, found
        said = [words for _, words in found["slurm.conf"]]
        assert sorted(words.split(" ")[0] for words in said) == ["HealthCheckProgram", "Prolog", "PrologFlags"]
        assert {name: node.words for name, node in Slurm(private.environment).nodes().items()} == before
