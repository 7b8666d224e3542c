"""The doctor: an installation that is well, one thing wrong at a time, and that it changes nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.base import utc_text
from nearfar.cli import main
from nearfar.slurm.controller import Slurm
from tests.support.private_slurm import PrivateSlurm, needed

SYSTEM = (
    'system: vm\nhosts: ["n[1-9]"]\nact:\n  trusted: [root, nobody]\n  default: drain\npartitions:\n  - name: gpu\n'
)
NODE = """\
NodeName={name} Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=1 CPUTot=1 CPULoad=0.00
   State={state} ThreadsPerCore=1
   Partitions=gpu
   LastBusyTime={busy}

"""
QUESTIONS = [
    "Slurm", "rights of act", "site's files", "scripts", "nightly timer", "act timer", "results", "health findings", "two users",
    "slurm.conf",
]  # fmt: skip

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories away")


class Site:
    """An installation below a directory that stands for ``/``, and a stand-in for Slurm and systemd whose answers are files."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.root, self.results, self.state = folder, folder / "root", folder / "results", folder / "state"
        self.findings, self.bin, self._capsys = folder / "findings", folder / "bin", capsys
        for path in (folder / "site" / "systems", self.results / "night", self.state, self.findings, self.bin):
            path.mkdir(parents=True)
        os.chown(self.results, 65534, 65534)
        (folder / "site" / "systems" / "vm.yaml").write_text(SYSTEM)
        self.tool("scontrol", f"""
            echo "$*" >>{folder}/asked
            case "$*" in --version) echo slurm 23.11.4;; *config) cat {folder}/config;; *) cat {folder}/nodes;; esac""")  # fmt: skip
        self.tool("runuser", "exit 0")
        self.systemd()
        self.config()
        self.nodes(n1="IDLE", n2="IDLE")
        for path in (self.findings / "n1.json", self.findings / "n2.json", self.state / "ledger.db"):
            path.touch()
        self.install()

    def install(self, *words: str) -> None:
        """As it should be; ``words`` change that."""
        order = [
            f"--results={self.results}",
            f"--health-output={self.findings}",
            f"--state={self.state}",
            f"--root={self.root}",
        ]
        assert main(["slurm", "install", "--partition=gpu", "--user=nobody", *order, "--apply", *words]) == 0
        self._capsys.readouterr()

    def tool(self, name: str, text: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.bin / name).chmod(0o755)

    def systemd(self, enabled: str = "enabled", active: str = "active") -> None:
        """What systemd answers of all timers."""
        answers = (
            f"is-enabled) echo {enabled}; [ {enabled} = enabled ];; is-active) echo {active}; [ {active} = active ];;"
        )
        self.tool("systemctl", f'case "$1" in {answers} esac')

    def config(self, **settings: str) -> None:
        right = {
            "ClusterName": "x", "SlurmUser": "slurm(64030)", "HealthCheckProgram": "/etc/nearfar/health-check",
            "HealthCheckInterval": "300 sec", "HealthCheckNodeState": "IDLE,CYCLE", "Prolog": "/etc/nearfar/prolog",
            "PrologFlags": "Alloc,X11", "Epilog": "/etc/nearfar/epilog", **settings,
        }  # fmt: skip
        (self.folder / "config").write_text("".join(f"{name:<23} = {value}\n" for name, value in right.items()))

    def nodes(self, busy: float = 0.0, **states: str) -> None:
        since = utc_text(busy).removesuffix("Z")
        text = "\n".join(NODE.format(name=name, state=state, busy=since) for name, state in states.items())
        (self.folder / "nodes").write_text(text)

    def doctor(self) -> tuple[int, dict[str, str]]:
        """The exit code, and the words and remedies of what is not well, by question."""
        self._capsys.readouterr()
        code = main(["slurm", "doctor", f"--root={self.root}"])
        printed = self._capsys.readouterr().out
        bad = {
            about: f"{words} → {remedy}"
            for about, words, remedy in re.findall(r"(?m)^problem +(.+?): (.*)\n +→ (.*)$", printed)
        }
        assert code == (3 if bad else 0)
        return code, bad


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Site:
    for name in ("SLURM_CONF", "NEARFAR_METRICS", "NEARFAR_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    # The published files are looked at by other tests.
    for module in ("nearfar.slurm.install.doctor", "nearfar.slurm.act.one_call"):
        monkeypatch.setattr(f"{module}.site_directories", lambda: [tmp_path / "site"])
    return Site(tmp_path, capsys)


def test_all_is_well_and_nothing_changes(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in site.folder.rglob("*") if path.name != "asked"}
    assert main(["slurm", "doctor", f"--root={site.root}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].removeprefix("OK").strip() for line in lines[:-1]] == QUESTIONS
    assert lines[-1] == "all is well" and "two users: nobody measures, root drains" in lines[8]
    assert {path: path.stat().st_mtime_ns for path in site.folder.rglob("*") if path.name != "asked"} == before
    asked = (site.folder / "asked").read_text()
    assert "update" not in asked and "create" not in asked


def age(path: Path, hours: float) -> None:
    os.utime(path, (time.time() - 3600 * hours,) * 2)


def edit(path: Path, text: str, by: str = "") -> None:
    path.write_text(path.read_text().replace(text, by) if text else by)


Break = Callable[[Site], object]


@pytest.mark.parametrize("wrong, about, words", [
    (lambda site: site.tool("scontrol", "echo slurm 19.05.1"), "Slurm", "too old"),
    (lambda site: site.tool("scontrol", "exit 1"), "Slurm", "exit code 1 → scontrol ping; for another Slurm: nearfar slurm install"),
    (lambda site: (site.folder / "nodes").write_text("rubbish\n"), "Slurm", "scontrol shows no nodes but 'rubbish'"),
    (lambda site: site.install("--partition=cpu"), "Slurm", "partition cpu has no nodes → nearfar slurm install --partition NAME --apply"),
    (lambda site: (site.install("--act-user=daemon"), site.tool("sacctmgr", "echo None")), "rights of act",
     "daemon may not drain nodes → sacctmgr modify user daemon set adminlevel=operator"),
    (lambda site: (site.install("--act-user=daemon"), site.tool("sacctmgr", "exit 1")), "rights of act", "neither root nor SlurmUser"),
    (lambda site: edit(site.folder / "site/systems/vm.yaml", "system:", "systm:"), "site's files", "vm.yaml:1"),
    (lambda site: edit(site.folder / "site/systems/vm.yaml", "", "system: vm\npartitions: [{name: gpu}]\n"), "site's files",
     "no file of site/systems/ allows `act` anything: write its section `act:` into your system's file"),
    (lambda site: edit(site.folder / "site/systems/vm.yaml", ", nobody"), "site's files", "results of nobody are not trusted"),
    (lambda site: edit(site.root / "etc/nearfar/act", "slurm act", "slurm act -h"), "scripts",
     "etc/nearfar/act → nearfar slurm install --apply"),
    (lambda site: (site.root / "etc/nearfar/prolog").unlink(), "scripts", "etc/nearfar/prolog"),
    (lambda site: (site.root / "etc/nearfar/epilog").chmod(0o777), "scripts", "etc/nearfar/epilog"),
    (lambda site: site.tool("runuser", 'echo "$4: Permission denied" >&2; exit 126'), "scripts",
     "nobody cannot run Python: /"),
    (lambda site: site.systemd(active="inactive"), "act timer", "nearfar-act.timer: inactive → systemctl daemon-reload && "),
    (lambda site: site.systemd("disabled"), "nightly timer", "nearfar-nightly.timer: disabled → systemctl daemon-reload"),
    (lambda site: site.tool("systemctl", "echo 'not booted with systemd' >&2; exit 1"), "act timer", "not booted with systemd"),
    (lambda site: site.results.chmod(0o777), "results", "other users can write to it (mode 0777) → install -d -o nobody -m 0755"),
    (lambda site: os.chown(site.results, 12345, 0), "results", "belongs to user 12345, not to 65534 → install -d -o nobody"),
    (lambda site: shutil.rmtree(site.results), "results", "No such file or directory → install -d -o nobody"),
    (lambda site: site.folder.chmod(0o777), "results", "other users can write to it (mode 0777)"),
    (lambda site: age(site.findings / "n2.json", 24), "health findings", "none from n2 in"),
    (lambda site: shutil.rmtree(site.findings), "health findings", "No such file or directory → install -d -o root"),
    (lambda site: site.install("--act-user=nobody"), "two users", "nobody both measures and drains: who can write results can drain"),
    (lambda site: site.config(Prolog="/etc/slurm/mine"), "slurm.conf",
     "missing: Prolog=/etc/nearfar/prolog (now: /etc/slurm/mine; to keep both, call /etc/nearfar/prolog from it and"),
])  # fmt: skip
def test_one_thing_is_wrong(site: Site, wrong: Break, about: str, words: str) -> None:
    wrong(site)
    code, bad = site.doctor()
    assert code == 3 and words in bad.get(about, ""), bad
    others = set(bad) - {about, "nightly timer", "act timer", "two users", "rights of act"}
    assert about == "Slurm" or not others, bad


def test_findings_of_a_partition_without_nodes(site: Site) -> None:
    site.install("--partition=cpu")
    assert site.doctor()[1]["health findings"].startswith("not known: partition cpu has no nodes")


def test_a_slurm_that_hangs_is_waited_for_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.slurm.install.doctor._PATIENCE", 0.5)
    site.tool("scontrol", f"echo asked >>{site.folder}/calls; exec sleep 60")
    began = time.monotonic()
    _, bad = site.doctor()
    assert time.monotonic() - began < 20 and (site.folder / "calls").read_text().count("asked") == 1
    assert "no answer within" in bad.pop("Slurm")
    assert set(bad) == {"health findings", "slurm.conf"} | ({"rights of act"} & set(bad)), bad
    assert bad["slurm.conf"] == "not known: Slurm does not answer → scontrol ping"


def test_only_idle_nodes_owe_findings(site: Site) -> None:
    age(site.findings / "n2.json", 24)
    site.nodes(busy=time.time() - 600, n1="IDLE", n2="IDLE")
    assert site.doctor() == (0, {}), "idle for ten minutes"
    site.nodes(n1="IDLE", n2="ALLOCATED")
    assert site.doctor() == (0, {})
    age(site.findings / "n1.json", 24)
    site.nodes(n1="ALLOCATED", n2="ALLOCATED")
    assert "none from n[1-2]" in site.doctor()[1]["health findings"]


def test_only_installed_parts_are_asked_about(site: Site) -> None:
    site.config(Prolog="(null)", Epilog="(null)", HealthCheckProgram="(null)")
    shutil.rmtree(site.findings)
    edit(site.folder / "site/systems/vm.yaml", "", "system: vm\npartitions: [{name: gpu}]\n")
    site.install("--what", "nightly")
    assert site.doctor() == (0, {})


def test_a_wrapper_of_the_sites_own_that_calls_ours(site: Site) -> None:
    (site.folder / "prolog.d").mkdir()
    (site.folder / "prolog.d" / "50-gpus").write_text("#!/bin/sh\n/etc/nearfar/prolog || exit 1\n")
    site.config(Prolog=f"{site.folder}/prolog.d/*", HealthCheckInterval="60 sec", HealthCheckNodeState="ANY")
    assert site.doctor() == (0, {})


def test_code_that_others_can_change(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other" / "nearfar").mkdir(parents=True)
    (tmp_path / "other" / "nearfar" / "cli.py").touch(0o666)
    (tmp_path / "other" / "nearfar" / "cli.py").chmod(0o666)
    raw = json.loads((site.root / "etc/nearfar/installed.json").read_text())
    raw["options"]["checkout"] = str(tmp_path / "other")
    (site.root / "etc/nearfar/installed.json").write_text(json.dumps(raw))
    monkeypatch.setattr("nearfar.slurm.install.doctor.changes", lambda *words: [])
    assert "cli.py: other users can write to it (mode 0666)" in site.doctor()[1]["scripts"]


def test_nothing_is_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slurm", "doctor", f"--root={tmp_path}"]) == 3
    printed = capsys.readouterr().err
    assert "nothing is installed here; nearfar slurm install" in printed and printed.count("\n") == 1


@pytest.mark.slurm
def test_with_a_real_slurm(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings and nodes are read as they are, and no node is other than before."""
    needed()
    (site.bin / "scontrol").unlink()
    settings = {"Epilog": "/etc/nearfar/epilog", "HealthCheckProgram": "/bin/true", "HealthCheckInterval": "60"}
    with PrivateSlurm(cpus=1, gpus=0, nodes=2, settings=settings) as private:
        monkeypatch.setenv("SLURM_CONF", private.environment["SLURM_CONF"])
        scontrol = shutil.which("scontrol", path=private.environment["PATH"])
        assert scontrol is not None
        site.install("--partition=all", f"--slurm-bin={Path(scontrol).parent}")
        for name in Slurm(private.environment).nodes():
            (site.findings / f"{name}.json").touch()
        before = {name: node.words for name, node in Slurm(private.environment).nodes().items()}
        bad = site.doctor()[1]
        assert (
            set(bad) <= {"slurm.conf", "health findings"}
            and "Prolog=/etc/nearfar/prolog (now: not set)" in bad["slurm.conf"]
        )
        assert {name: node.words for name, node in Slurm(private.environment).nodes().items()} == before
