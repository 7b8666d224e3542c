"""docs/guide/when-it-says.md: every word in it is really said, and what it tells to type exists."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.base import CouldNotJudge, NearfarError
from nearfar.commands.slurm import COMMANDS, act_arguments
from nearfar.slurm.act import state_directory
from nearfar.slurm.controller import Slurm
from nearfar.slurm.findings import ActLog
from tests.conftest import CHECKOUT
from tests.slurm.status.test_status import NAMES, Fleet
from tests.support import pair_results
from tests.support.fake_slurm import stamp
from tests.support.node_results import leave

PAGE = CHECKOUT / "docs/guide/when-it-says.md"
_ROW = re.compile(r"^\| `(.+?)` \| (.+) \| (.+) \|$", re.MULTILINE)
#: Rows that scenes play, and those whose words are looked for in the code.
PLAYED, NOT_PLAYED = (_ROW.findall(part) for part in PAGE.read_text(encoding="utf-8").split("\n## A sweep\n"))
ROWS = [*PLAYED, *NOT_PLAYED]
GOOD, SLOW = {"metrics": [pair_results.figure(1.5)]}, {"metrics": [pair_results.figure(9.0)]}


class Scenes:
    """Fleets in which everything happens that has a row; each scene leaves what the commands say of it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.patch, self.capsys = folder, patch, capsys
        self.fleet = Fleet(folder / "0", patch)
        self.now = time.time()

    def new(self, name: str) -> Fleet:
        self.fleet = Fleet(self.folder / name, self.patch)
        system = self.folder / name / "site/systems/vm.yaml"
        system.write_text(system.read_text().replace("nodes: 3, share: 0.5", "nodes: 2, share: 0.5"))
        return self.fleet

    def said(self, *commands: tuple[str, ...]) -> str:
        for words in commands:
            self.fleet.run(*words)
        captured = self.capsys.readouterr()
        return captured.out + captured.err

    def wrong(self, *nodes: str, code: str = "wrong_data") -> None:
        for number, name in enumerate(nodes):
            leave(self.fleet.results, name, f"000001{number:02}", at=self.now - 60, wrong="GPU 2 is absent", code=code)

    def drained(self, name: str, slow: bool) -> Fleet:
        fleet = self.new(name)
        fleet.slow("n2", 7200, 60) if slow else self.wrong("n2")
        fleet.run("act")
        assert fleet.slurm.node("n2").drain
        return fleet

    def all(self) -> Iterator[str]:
        yield from self.hard()
        yield from self.slow()
        yield from self.again()
        yield from self.others()
        yield from self.in_use()
        yield from self.fleets()
        yield from self.unread()
        yield from self.log()

    def hard(self) -> Iterator[str]:
        fleet = self.new("hard")
        self.wrong("n2")
        yield self.said(("status",))
        yield self.said(("act",), ("status",))
        state = fleet.slurm.node("n2")
        fleet.slurm.states["n2"] = replace(state, fields={**state.fields, "BootTime": stamp(time.time() + 5)})
        yield self.said(("act",), ("status",))
        fleet.slurm.states["n2"] = state
        time.sleep(1.1)  # Slurm keeps whole seconds
        fleet.slurm.resume("n2")
        yield self.said(("act",), ("status",), ("log",))
        self.drained("released", slow=False)
        yield self.said(("release", "n2", "--because", "x"), ("status",))
        self.drained("cleared", slow=True)
        yield self.said(("clear", "n2", "--because", "x"))

    def slow(self) -> Iterator[str]:
        fleet = self.drained("slow", slow=True)
        yield self.said(("status",))
        at = time.time()
        for number, how in enumerate(({"speed": 27.0}, {"speed": None}, {"speed": 55.0}), 1):
            leave(fleet.results, "n2", f"0000020{number}", at=at + 60 * number, job=None, **how)  # type: ignore[arg-type]
            yield self.said(("status",))
        fleet = self.drained("retested", slow=True)
        held = {"n2": {"reason": fleet.slurm.node("n2").reason}}
        ActLog(fleet.state).note("quarantine", time.time(), reservation="nearfar-retest-1", nodes=held)
        yield self.said(("status",))
        fleet = self.drained("forgotten", slow=True)
        (fleet.state / "log.jsonl").unlink()
        yield self.said(("status",))
        fleet = self.new("pairs")
        rounds = [{"n1+n4": GOOD, "n2+n3": SLOW, "n5+n6": GOOD}, {"n1+n3": GOOD, "n2+n4": SLOW}]
        pair_results.leave(fleet.results, "s", self.now - 60, rounds)
        yield self.said(("act",), ("status",))

    def again(self) -> Iterator[str]:
        """It flaps; it dies; too many are out."""
        fleet = self.drained("flaps", slow=True)
        time.sleep(1.1)  # Slurm keeps whole seconds
        fleet.slurm.resume("n2")
        fleet.run("act")
        at = time.time()
        for number in (1, 2):
            leave(fleet.results, "n2", f"0000040{number}", at=at + 60 * number, speed=27.0, took=1.0)
        yield self.said(("act",), ("act",), ("status",))
        fleet = self.drained("died", slow=True)
        state = fleet.slurm.node("n2")
        fleet.slurm.states["n2"] = replace(state, base="DOWN", flags=state.flags | {"NOT_RESPONDING"})
        yield self.said(("act",), ("status",))
        fleet.slurm.states["n2"] = state
        yield self.said(("act",))
        fleet = self.new("few")
        system = self.folder / "few/site/systems/vm.yaml"
        system.write_text(system.read_text().replace("  cap:\n", "  cap:\n    available: {share: 0.8}\n"))
        for name in NAMES[2:]:
            fleet.slurm.drain(name, "moved")
        self.wrong("n2")
        assert fleet.run("status") == 3, "a drain is held"
        yield self.said(("act",), ("status",))

    def others(self) -> Iterator[str]:
        fleet = self.drained("edited", slow=True)
        fleet.slurm.drain("n2", "ticket 12")
        yield self.said(("status",), ("release", "n2", "--because", "x"))
        fleet = self.new("others")
        fleet.slurm.drain("n2", "bad DIMM")
        self.wrong("n2")
        yield self.said(("status",), ("retest", "n2"))
        yield self.said(("act",), ("log",), ("clear", "n2", "--because", "x"), ("release", "n3", "--because", "x"))

    def in_use(self) -> Iterator[str]:
        fleet = self.new("suspects")
        fleet.slow("n2", 60)
        for number, at in enumerate((7200, 60)):
            leave(fleet.results, "n3", f"0000030{number}", at=self.now - at, speed=27.0, check="peer_check")
        leave(fleet.results, "n4", "00000304", at=self.now - 60, looks=(27.0, 55.0, 55.0))
        leave(fleet.results, "n5", "00000305", at=self.now - 60, speed=None, indeterminate="the GPU is busy")
        comment = "nearfar: FAIL saturation g2:n0 cell.wrong_data run=00000306"
        fleet.slurm.states["n6"] = replace(fleet.slurm.node("n6"), comment=comment)
        leave(fleet.results, "n99", "00000309", at=self.now - 60, wrong="GPU 2 is absent")
        yield self.said(("status",), ("status", "n6"))
        fleet = self.new("observed")
        leave(fleet.results, "n2", "00000310", at=self.now - 60, wrong="GPU 2 is absent", check="peer_check")
        yield self.said(("status",))

    def unread(self) -> Iterator[str]:
        """slurmctld is away; the results are."""
        fleet = self.new("silent")
        with self.patch.context() as patch:
            patch.setattr(fleet.slurm, "nodes", _silent)
            yield self.said(("status",))
        leave(fleet.results, "n1", "00000001", at=self.now - 60)
        fleet.run("act")
        os.utime(fleet.state / "read.json", (self.now - 3 * 86400,) * 2)
        yield self.said(("status",))
        fleet.results.rename(fleet.results.with_name("elsewhere"))
        fleet.results.mkdir()
        yield self.said(("act",), ("status",))

    def fleets(self) -> Iterator[str]:
        fleet = self.new("caps")
        self.wrong("n1", "n2", "n3")
        yield self.said(("act",), ("status",), ("release", "n3", "--because", "x"))
        yield self.said(("allow-drains", "--because", "x"), ("allow-drains", "--because", "x"))
        fleet = self.new("driver")
        self.wrong("n1", "n2", "n3", code="absent")
        leave(fleet.results, "n4", "00000001", at=self.now - 60)
        yield self.said(("act",), ("status",), ("log",), ("clear", "n[1-3]", "--because", "x"), ("act",), ("log",))
        fleet = self.new("reference")
        for name in ("n1", "n2", "n3"):
            fleet.slow(name, 7200, 60)
        leave(fleet.results, "n4", "00000001", at=self.now - 60)
        (leave(fleet.results, "n5", "00000005", at=self.now - 60) / "result.json").chmod(0o666)
        os.utime(leave(fleet.results, "n6", "00000006", at=self.now - 7200), (self.now, self.now))
        yield self.said(("act",), ("status",))
        yield self.new("nowhere") and self.said(("status",))
        cli.main(["slurm", "status", f"--state={self.fleet.state}", "--system=vm"])
        yield self.said()
        (self.folder / "scontrol").write_text('#!/bin/sh\necho "slurm_update error: Invalid user id" >&2; exit 1\n')
        (self.folder / "scontrol").chmod(0o755)
        with pytest.raises(NearfarError) as refused:
            Slurm({"PATH": str(self.folder)}).call("scontrol", "update", "nodename=n2", "state=resume")
        yield str(refused.value)
        fleet = self.new("of_another")
        fleet.state.mkdir()
        with self.patch.context() as patch, pytest.raises(NearfarError) as refused:
            if os.geteuid() == 0:
                os.chown(fleet.state, 1234, 0)
            patch.setattr(os, "geteuid", lambda: 4321)
            state_directory.prepare(fleet.state)
        yield str(refused.value)

    def log(self) -> Iterator[str]:
        fleet = self.new("log")
        fleet.state.mkdir()
        log, now = ActLog(fleet.state), time.time()
        for action in ("drain", "release", "drain"):
            log.note(action, now, "n2", why="x")
        log.end(log.begin("resume", now, "n2"), "refused", now, error="x")
        log.end(log.begin("resume", now, "n2"), "unclear", now, error="x")
        log.begin("resume", now, "n2")
        yield self.said(("log",))


def _silent() -> None:
    raise CouldNotJudge("scontrol: no answer")


@pytest.fixture(scope="module")
def corpus() -> dict[str, str]:
    return {}


@pytest.fixture
def everything(
    corpus: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """All that the commands say in all scenes, in one line; played once."""
    if not corpus:
        monkeypatch.setattr(act_arguments, "FOLDER", str(tmp_path / "etc"))
        monkeypatch.setenv("PATH", f"{Path(shutil.which('sh') or '/bin/sh').parent}:{os.environ['PATH']}")
        corpus["said"] = " ".join(" ".join(Scenes(tmp_path, monkeypatch, capsys).all()).split())
    return corpus["said"]


@pytest.mark.parametrize("words", [row[0] for row in PLAYED])
def test_it_says_this(everything: str, words: str) -> None:
    pattern = re.escape(words).replace("…", ".{1,300}?")
    assert re.search(pattern, everything), f"{words}\n{everything}"


def test_the_page_has_rows() -> None:
    assert len(ROWS) > 35 and len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    "page", [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_what_is_to_be_typed_exists(page: Path) -> None:
    """Every `nearfar slurm …` of the manual is a command, with options that it has."""
    known: dict[str, str] = {}
    for command, words in re.findall(r"nearfar slurm ([a-z-]+)([^`\n|]*)", page.read_text(encoding="utf-8")):
        assert command in COMMANDS, f"{page}: nearfar slurm {command}"
        if command not in known:
            known[command] = _help(command)
        for option in re.findall(r" (--[a-z][a-z-]+)", words.partition("#")[0]):
            assert option in known[command], f"{page}: nearfar slurm {command} {option}"


def _help(command: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        cli.parser("slurm").parse_args(["slurm", command, "--help"])
    return out.getvalue()
