"""A retest that is killed at whatever moment: what follows ends it, and leaves no reservation, no lock and no node in use untested."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.slurm.act import RetestOptions, quarantine, repairs
from nearfar.slurm.controller import reservations
from nearfar.slurm.controller.scontrol import Slurm
from nearfar.slurm.ledger import CheckRun, Ledger, actions, evidence_in
from nearfar.slurm.sweep import begin_or_resume
from tests.support import sweeping
from tests.support.acting import Site
from tests.support.fake_slurm import FakeSlurm
from tests.support.played_fleet import PlayedFleet
from tests.support.private_slurm import PrivateSlurm, needed


class Killed(BaseException):
    """What SIGKILL does: nothing is done any more, and nothing is tidied."""


@dataclass
class Process:
    """A process that is killed at its step number ``steps`` (None: never), before or ``after`` it has had its effect."""

    steps: int | None
    after: bool
    done: int = 0

    def step(self, effect: Callable[[], Any]) -> Any:
        """One step; ``Killed`` from the last on."""
        self.done += 1
        if self.steps is not None and self.done >= self.steps:
            if self.done == self.steps and self.after:
                effect()
            raise Killed
        return effect()


class Steps:
    """A thing each of whose calls is a step of a process."""

    def __init__(self, process: Process, thing: Any) -> None:
        self._process, self._thing = process, thing

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._thing, name)
        return lambda *words, **more: self._process.step(lambda: method(*words, **more))


class Reserving(FakeSlurm):
    """A Slurm with reservations."""

    reserved: dict[str, str]

    def call(self, *command: str) -> str:
        said = dict(word.split("=", 1) for word in command if "=" in word)
        if command[:2] == ("scontrol", "create"):
            self.reserved[said["reservationname"]] = (
                f"ReservationName={said['reservationname']} Nodes={said['nodes']} Users={said['users']} Accounts=(null) Groups=(null) "
                "State=ACTIVE Flags=IGNORE_JOBS\n"
            )
        elif command[:2] == ("scontrol", "delete"):
            if self.reserved.pop(said["reservationname"], None) is None:
                raise CouldNotJudge("scontrol delete: no such reservation")
        elif "reservations" in command:
            return "".join(self.reserved.values()) or "No reservations in the system"
        return ""


def done_by(process: Process, fleet: PlayedFleet, doing: Callable[[Any], Any]) -> None:
    """Let a process that is killed do something to a fleet: each write to the ledger and each call of Slurm is a step."""
    write = Ledger.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "write", lambda ledger, *words: process.step(lambda: write(ledger, *words)))
        try:
            doing(Steps(process, fleet.slurm))
        except (Killed, CouldNotJudge):
            pass


def tried(place: Path, verdict: str, steps: int | None, after: bool, keeps: bool) -> tuple[Process, PlayedFleet]:
    """A node with wrong data, and its retest in a process that is killed."""
    place.mkdir()
    fleet, now = PlayedFleet(place, ("n1",)), time.time()
    fleet.slurm = Reserving(("n1",), keeps)
    fleet.slurm.reserved = {}
    fleet.wrong("n1")
    fleet.act()
    run = CheckRun("n1", "host_device_check", "00000009", now, now, verdict, level="accept", system="vm")
    process, request = Process(steps, after), RetestOptions("n1", "accept", None, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repairs, "_measure", lambda *_: process.step(lambda: [run]))
        patch.setattr(repairs, "covered", lambda *_: True)
        done_by(process, fleet, lambda slurm: repairs.retest(request, fleet.options, slurm, lambda line: None))
    return process, fleet


def recovered(fleet: PlayedFleet, slurm: Any) -> None:
    with fleet.ledger() as ledger:
        _, still = quarantine.recover(fleet.state, slurm, ledger)
        assert not still


@pytest.mark.parametrize("keeps", [False, True], ids=["22.05", "25.11"])
@pytest.mark.parametrize("verdict", ["PASS", "INDETERMINATE"])
def test_killed_at_every_step(tmp_path: Path, verdict: str, keeps: bool) -> None:
    """Then the next process is killed, too, and the one after that ends it."""
    whole, fleet = tried(tmp_path / "whole", verdict, None, False, keeps)
    assert fleet.node("n1").drain == (verdict != "PASS") and not fleet.slurm.reserved and whole.done > 10
    for steps in range(1, whole.done + 1):
        for after in (False, True):
            _, fleet = tried(tmp_path / f"{steps}-{after}", verdict, steps, after, keeps)
            over = (actions.RELEASE, "done", "n1") in fleet.did()
            assert fleet.node("n1").drain or fleet.slurm.reserved or over, f"in use at step {steps}"
            done_by(Process(1 + steps % 6, after), fleet, partial(recovered, fleet))
            recovered(fleet, fleet.slurm)
            assert not fleet.slurm.reserved, f"step {steps}"
            with fleet.ledger() as ledger:
                past, evidence = actions.past(ledger, time.time()), evidence_in(ledger, "vm")
            assert not past.retests
            if fleet.node("n1").drain:
                assert str(fleet.node("n1").reason).endswith("run=00000001") and evidence["n1"] and past.drained["n1"]
            else:
                assert verdict == "PASS" and over, f"in use, killed at step {steps} before it had passed"
                assert not evidence and not past.drained, f"killed at step {steps}: nobody else resumed it"


# On a real Slurm, at the two moments at which most is open.


@pytest.fixture(scope="module")
def slurm() -> Iterator[PrivateSlurm]:
    needed(root=True)
    with PrivateSlurm(cpus=2, gpus=2, nodes=2) as private:
        yield private


#: ``python -c … NODES RESULTS STATE``: a retest of delivered nodes; without NODES what any ``act`` begins with.
_RETEST = """\
import sys
from pathlib import Path
from nearfar.slurm.act import ActOptions, RetestOptions, act, read_policy, retest
from nearfar.slurm.controller import Slurm
nodes, results, state = sys.argv[1:]
options = ActOptions(read_policy(None), Path(results), None, Path(state))
if nodes:
    request = RetestOptions(nodes, "quick", None, "new")
    retest(request, options, Slurm(), lambda line: print(line, file=sys.stderr))
else:
    print(*act(options, Slurm()).recovered)
"""


class Retested:
    """A node that is drained as delivered, and retests of it."""

    def __init__(self, slurm: PrivateSlurm, place: Path) -> None:
        self.slurm, self.place, self.results = slurm, place, place / "results"
        self.results.mkdir()
        self.variables = sweeping.site(place, slurm)
        system = place / "site/systems/mine.yaml"
        system.write_text(system.read_text() + "act: {default: drain}\n")
        # The jobs of the test before may not have ended yet.
        Slurm(slurm.environment).wait("n1", lambda node: node.free_of_jobs, 60)
        slurm.run(["scontrol", "update", "nodename=n1", "state=drain", "reason=new"])

    def started(self, nodes: str, **variables: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _RETEST, nodes, str(self.results), str(self.place / "state")]
        environment = {**self.slurm.environment, **self.variables, **variables}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @property
    def sweeps(self) -> list[str]:
        """The processes of sweeps into its results."""
        found = subprocess.run(["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
        return [line for line in found.splitlines() if "nearfar slurm sweep" in line and str(self.results) in line]

    def ended_by_the_next(self) -> None:
        """What any later ``act`` does first: the node is drained as before, nothing is reserved, and nobody holds a lock."""
        out, said = self.started("").communicate(timeout=60)
        assert "an interrupted retest" in out, said
        slurm = Slurm(self.slurm.environment)
        assert (slurm.node("n1").drain, slurm.node("n1").reason) == (True, "new")
        assert reservations.show(slurm) == []
        with begin_or_resume.lock(self.results):
            pass
        slurm.wait("n1", lambda node: node.free_of_jobs, 20)

    def again(self) -> None:
        """Tested again it passes: no lock is held on the node either."""
        running = self.started("n1")
        out, said = running.communicate(timeout=120)
        assert running.returncode == 0 and not Slurm(self.slurm.environment).node("n1").drain, out + said


@pytest.fixture
def retested(slurm: PrivateSlurm, tmp_path: Path) -> Iterator[Retested]:
    found = Retested(slurm, tmp_path)
    yield found
    sweeping.build(slurm, "n1", "good")
    slurm.run(["scontrol", "update", "nodename=n1", "state=resume"])


@pytest.mark.slurm
def test_killed_while_its_sweep_measures(slurm: PrivateSlurm, retested: Retested) -> None:
    sweeping.build(slurm, "n1", "busy")
    running = retested.started("n1")
    sweeping.until(lambda: bool(list(retested.results.glob("*/jobs/*.out"))), "the node is measured")
    assert retested.sweeps
    running.send_signal(signal.SIGKILL)
    running.communicate()
    sweeping.until(lambda: not retested.sweeps, "its sweep ends with it", 20)
    assert reservations.show(Slurm(slurm.environment)), "until somebody looks, others cannot use the node"
    retested.ended_by_the_next()
    assert slurm.run(["squeue", "-h"]).stdout == ""
    sweeping.build(slurm, "n1", "good")
    retested.again()


@pytest.mark.slurm
def test_its_sweep_is_killed(slurm: PrivateSlurm, retested: Retested) -> None:
    sweeping.build(slurm, "n1", "busy")
    running = retested.started("n1")
    sweeping.until(lambda: bool(list(retested.results.glob("*/jobs/*.out"))), "the node is measured")
    os.kill(int(retested.sweeps[0].split()[0]), signal.SIGKILL)
    running.communicate(timeout=60)
    state = Slurm(slurm.environment)
    assert (state.node("n1").drain, state.node("n1").reason, reservations.show(state)) == (True, "new", [])
    assert not re.search("RUNNING|PENDING", slurm.run(["squeue", "-h", "-o", "%T"]).stdout)


@pytest.mark.slurm
@pytest.mark.parametrize("moment", ["state=resume", "delete reservationname"])
def test_killed_at_an_order_to_slurm(slurm: PrivateSlurm, retested: Retested, moment: str) -> None:
    """Just after the node was resumed, and just before the reservation is removed."""
    folder = retested.place / "wrapper"
    folder.mkdir()
    real = str(shutil.which("scontrol", path=slurm.environment["PATH"]))
    last = (
        "scontrol() { "
        + real
        + ' "$@"; }\n'
        + ('scontrol "$@"; ' if "resume" in moment else "")
        + "kill -9 $PPID; exit 1"
    )
    (folder / "scontrol").write_text(f'#!/bin/bash\nif [[ "$*" = *"{moment}"* ]]; then\n{last}\nfi\nexec {real} "$@"\n')
    (folder / "scontrol").chmod(0o755)
    running = retested.started("n1", PATH=f"{folder}:{slurm.environment['PATH']}")
    assert running.communicate(timeout=60) and running.returncode == -signal.SIGKILL
    state = Slurm(slurm.environment)
    if "resume" in moment:
        assert not state.node("n1").drain and reservations.show(state)
        retested.ended_by_the_next()
    else:
        assert not state.node("n1").drain and reservations.show(state), "it has passed"
        retested.started("").communicate(timeout=60)
        assert not state.node("n1").drain and reservations.show(state) == []


def test_the_end_of_a_retest_that_slurmctld_had_not_saved_when_it_was_killed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.slow_twice("n2", "00000002", "00000003")
    assert site.act() == 0 and site.act() == 0
    reason = site.node("n2").reason
    assert site.run("retest", "n2", "--level", "accept") == 1, "its sweep measures nothing"
    assert site.node("n2").drain and reservations.show(site.slurm) == []
    with Ledger.open(site.state) as ledger:
        [row] = ledger.rows("SELECT reservation FROM retest")
    # As slurmctld knows it again: reserved, and in use inside the reservation.
    reservations.make(site.slurm, row["reservation"], ["n2"], "root")
    site.private.run(["scontrol", "update", "nodename=n2", "state=resume"])
    site.slurm.wait("n2", lambda node: "RESERVED" in node.flags and not node.drain, 20)
    site.act()
    assert (site.node("n2").drain, site.node("n2").reason) == (True, reason)
    assert reservations.show(site.slurm) == []
    assert not [line for line in site.log() if line[0] == "resumed"]
