"""``install`` called again: what is not named stays as it was installed, what is named replaces itself alone, what is dropped goes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nearfar.cli import main
from nearfar.slurm.install import install as installing

FIRST = [
    "--partition=gpu", "--results=/srv/nearfar", "--user=nearfar", "--act-user=root", "--slurm-version=23.11", "--state=/srv/act",
    "--health-output=/srv/health", "--metrics=/srv/metrics", "--every=7", "--nightly=--sbatch=--qos=low", "--act=--system=mine",
]  # fmt: skip


class Machine:
    """The command with a directory for ``/``, and what it has installed there."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys

    def install(self, *words: str) -> str:
        code = main(["slurm", "install", f"--root={self.root}", *words])
        said = self._capsys.readouterr()
        assert code == 0, said.err
        return said.out

    def refused(self, *words: str, code: int = 2) -> str:
        assert main(["slurm", "install", f"--root={self.root}", *words]) == code
        said = self._capsys.readouterr()
        assert len(said.err.splitlines()) == 1 and "Traceback" not in said.err, said.err
        return said.err

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    @property
    def act(self) -> str:
        return self.text("etc/nearfar/act")


@pytest.fixture
def machine(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Machine:
    for name in ("SLURM_CONF", "NEARFAR_SITE", "NEARFAR_METRICS"):
        monkeypatch.setenv(name, "")  # put back afterwards, whatever the command sets
        monkeypatch.delenv(name)
    machine = Machine(tmp_path, capsys)
    machine.install(*FIRST, "--apply")
    return machine


def test_nothing_named_changes_nothing(machine: Machine) -> None:
    before = (machine.act, machine.text("etc/nearfar/nightly"), machine.text("etc/nearfar/health-check"))
    said = machine.install("--slurm-version=23.11", "--apply")
    assert said.splitlines()[:2] == [
        "nothing to change",
        "as installed: --partition=gpu --results=/srv/nearfar --user=nearfar --act-user=root --every=7 --nightly=--sbatch=--qos=low "
        "--act=--system=mine --state=/srv/act --health-output=/srv/health --metrics=/srv/metrics",
    ]
    assert (machine.act, machine.text("etc/nearfar/nightly"), machine.text("etc/nearfar/health-check")) == before


def test_what_is_named_replaces_itself_alone(machine: Machine) -> None:
    said = machine.install("--slurm-version=23.11", "--every=3", "--user=other", "--apply")
    assert "--every" not in said.split("as installed: ")[1].splitlines()[0]
    assert "--results=/srv/nearfar --health=/srv/health --state=/srv/act --system=mine" in machine.act
    assert "NEARFAR_METRICS=/srv/metrics" in machine.act
    assert "OnUnitInactiveSec=3min" in machine.text("etc/systemd/system/nearfar-act.timer")
    assert "User=root" in machine.text("etc/systemd/system/nearfar-act.service")
    assert "User=other" in machine.text("etc/systemd/system/nearfar-nightly.service")


def test_what_is_dropped_is_as_by_default(machine: Machine) -> None:
    machine.install("--slurm-version=23.11", "--drop", "metrics", "health-output", "act", "--apply")
    assert "NEARFAR_METRICS" not in machine.act and "--system" not in machine.act
    assert "--health=/var/lib/nearfar/health-of-nodes --state=/srv/act" in machine.act
    assert (machine.root / "etc/nearfar/collect").exists()
    machine.install("--slurm-version=23.11", "--drop", "act-user", "--apply")
    assert "User=nearfar" in machine.text("etc/systemd/system/nearfar-act.service")
    assert "--remove takes all away" in machine.refused("--drop", "metrics", "--remove")
    assert "--drop metrics: it is named as well" in machine.refused("--drop", "metrics", "--metrics=/a")


def test_a_directory_that_all_share_takes_the_collector_away_and_no_other_does(machine: Machine) -> None:
    assert not (machine.root / "etc/nearfar/collect").exists()
    machine.install("--slurm-version=23.11", "--collect=/srv/collected", "--apply")
    machine.install("--slurm-version=23.11", "--health-output=/srv/other", "--apply")
    assert "--health=/srv/collected" in machine.act, "named, it stays"
    machine.install("--slurm-version=23.11", "--drop", "collect", "--apply")
    assert "--health=/srv/other" in machine.act and not (machine.root / "etc/nearfar/collect").exists()


def test_a_part_that_was_installed_otherwise_keeps_its_own(machine: Machine) -> None:
    machine.install("--slurm-version=23.11", "--what", "nightly", "--results=/srv/nights", "--apply")
    said = machine.install("--slurm-version=23.11", "--apply")
    assert "nothing to change" in said and "nightly, as installed: " in said and "--results=/srv/nights" in said
    assert "--results=/srv/nights" in machine.text("etc/nearfar/nightly") and "--results=/srv/nearfar" in machine.act
    assert said.count("look whether all is well") == 1


def test_only_installed_parts_are_installed_again(machine: Machine) -> None:
    machine.install("--remove", "--what", "nightly", "--apply")
    machine.install("--slurm-version=23.11", "--apply")
    assert not (machine.root / "etc/nearfar/nightly").exists()
    machine.install("--slurm-version=23.11", "--what", "nightly", "--apply")
    assert "--results=/srv/nearfar" in machine.text("etc/nearfar/nightly"), "as the others have it"


def test_a_shell_without_the_sites_directory(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    templates = machine.root / "site" / "templates" / "slurm"
    templates.mkdir(parents=True)
    (templates / "nightly.j2").write_text("#!/bin/bash\nlogger nearfar {{ partition }}\n")
    with monkeypatch.context() as here:
        here.setenv("NEARFAR_SITE", str(machine.root / "site"))
        machine.install("--slurm-version=23.11", "--apply")
    said = machine.install("--slurm-version=23.11", "--apply")
    assert "nothing to change" in said and f"NEARFAR_SITE={machine.root}/site" in said
    machine.install("--slurm-version=23.11", "--drop", "NEARFAR_SITE", "--apply")
    assert "logger nearfar" not in machine.text("etc/nearfar/nightly") and "NEARFAR_SITE" not in machine.act


def test_without_slurm_its_version_is_as_installed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(machine.root))
    assert "nothing to change" in machine.install()
    assert "23.11" in machine.text("etc/nearfar/slurm.conf.example")


def test_an_installation_that_was_killed_goes_on_where_it_is_begun_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    written: list[str] = []

    def killed(change: installing.Change) -> None:
        if written:
            raise Killed
        written.append(change.path)
        real(change)

    real = installing.Change.carry_out
    with monkeypatch.context() as once:
        once.setattr(installing.Change, "carry_out", killed)
        once.setattr(installing.InstallManifest, "write", _only_first(installing.InstallManifest.write))
        with pytest.raises(Killed):
            main(
                [
                    "slurm",
                    "install",
                    f"--root={machine.root}",
                    "--slurm-version=23.11",
                    "--state=/srv/new",
                    "--every=3",
                    "--apply",
                ]
            )
    said = machine.install("--slurm-version=23.11", "--apply")
    assert "kept: edited" not in said and "--state=/srv/new" in machine.act
    assert "OnUnitInactiveSec=3min" in machine.text("etc/systemd/system/nearfar-act.timer")
    assert "nothing to change" in machine.install("--slurm-version=23.11")


def _only_first(write):  # type: ignore[no-untyped-def]
    """What SIGKILL leaves: the end's ``finally`` is not run."""
    done: list[object] = []

    def first(manifest):  # type: ignore[no-untyped-def]
        if not done:
            done.append(manifest)
            write(manifest)

    return first


@pytest.mark.parametrize("what, told", [
    (b"\xff\xfe", "not what nearfar slurm install wrote"), (b"[]", "not what nearfar slurm install wrote"),
    (b'{"schema": "nearfar-install/9", "parts": {}}', "expected schema nearfar-install/1, found nearfar-install/9"),
])  # fmt: skip
def test_a_list_that_is_damaged_or_of_another_version(machine: Machine, what: bytes, told: str) -> None:
    (machine.root / "etc/nearfar/installed.json").write_bytes(what)
    assert told in machine.refused("--apply", code=3)


@pytest.mark.parametrize("field, value", [
    ("every", "five"), ("every", None), ("hours", [1]), ("results", None), ("partition", 7), ("words", "abc"), ("environment", {"A": 1}),
    ("timer", "sundial"), ("prolog", "maybe"), ("user", "a b"), ("what", ["nonsense"]), ("at", 3), ("collect", 1), ("version", [22]),
])  # fmt: skip
def test_options_that_nobody_can_have_installed(machine: Machine, field: str, value: object) -> None:
    path = machine.root / "etc/nearfar/installed.json"
    raw = json.loads(path.read_text())
    for part in raw["parts"].values():
        part["options"][field] = value
    path.write_text(json.dumps(raw))
    machine.refused("--slurm-version=23.11", code=3)


def test_a_list_that_cannot_be_read(machine: Machine) -> None:
    (machine.root / "etc/nearfar/installed.json").unlink()
    os.symlink("installed.json", machine.root / "etc/nearfar/installed.json")
    assert "cannot be read" in machine.refused("--apply", code=3)
