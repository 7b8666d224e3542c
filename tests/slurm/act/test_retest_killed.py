"""A retest that is killed at whatever moment: what follows ends it, and leaves no reservation, no lock and no node in use untested."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import Finding
from nearfar.base.errors import CouldNotJudge
from nearfar.site.drain_policy import DrainSteps, Policy
from nearfar.slurm.act import quarantine
from nearfar.slurm.act.quarantine import Suspect
from nearfar.slurm.controller import reservations
from nearfar.slurm.controller.scontrol import Slurm
from nearfar.slurm.findings import ActLog, CheckRun, OurDrain, summarize
from nearfar.slurm.sweep import begin_or_resume
from nearfar.slurm.telling import events
from tests.support import sweeping
from tests.support.fake_slurm import FakeSlurm
from tests.support.private_slurm import PrivateSlurm, needed

REASON = "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000002"
SUSPECT = Suspect("n1", REASON, OurDrain(1.0, REASON, "host_device_check", Finding("g2", "FAIL", "", False)))
POLICY = Policy("vm", frozenset({os.geteuid()}), default=DrainSteps("drain", "drain"))


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

    def of(self, thing: Any) -> Any:
        """``thing`` as this process calls it."""
        return Steps(self, thing)


class Steps:
    """A thing each of whose calls is a step of a process."""

    def __init__(self, process: Process, thing: Any) -> None:
        self._process, self._thing = process, thing

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._thing, name)
        return lambda *words, **more: self._process.step(lambda: method(*words, **more))


@dataclass
class Reserving(FakeSlurm):
    """A Slurm with reservations."""

    reserved: dict[str, str] = field(default_factory=dict)

    def __init__(self, keeps: bool) -> None:
        super().__init__(("n1",), keeps)
        self.reserved = {}
        self.drain("n1", REASON, "nearfar")

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


def measured(verdict: str) -> Callable[..., Sequence[CheckRun]]:
    now = time.time()
    return lambda names, reservation: [
        CheckRun("n1", "host_device_check", "00000009", now, now, verdict, passed=frozenset({"x"}), job=True)
    ]


def tried(place: Path, verdict: str, steps: int | None, after: bool, keeps: bool) -> tuple[Process, Reserving, ActLog]:
    """A retest in a process that is killed."""
    place.mkdir()
    slurm, log, process = Reserving(keeps), ActLog(place), Process(steps, after)
    measure = measured(verdict)
    drain = log.begin(
        "drain", time.time(), "n1", reason=REASON, check="host_device_check", finding=SUSPECT.drained.finding.to_raw()
    )
    log.end(drain, "done", time.time())
    try:
        quarantine.retest(
            [SUSPECT], POLICY, process.of(slurm), process.of(log), lambda *words: process.step(lambda: measure(*words))
        )
    except (Killed, CouldNotJudge):
        pass
    return process, slurm, log


@pytest.mark.parametrize("keeps", [False, True], ids=["22.05", "25.11"])
@pytest.mark.parametrize("verdict", ["PASS", "INDETERMINATE"])
def test_killed_at_every_step(tmp_path: Path, verdict: str, keeps: bool) -> None:
    """Then the next process is killed, too, and the one after that ends it."""
    whole, slurm, _ = tried(tmp_path / "whole", verdict, None, False, keeps)
    assert slurm.node("n1").drain == (verdict != "PASS") and not slurm.reserved and whole.done > 10
    for steps in range(1, whole.done + 1):
        for after in (False, True):
            _, slurm, log = tried(tmp_path / f"{steps}-{after}", verdict, steps, after, keeps)
            over = "quarantine_over" in {entry.action for entry in log.entries()}
            assert slurm.node("n1").drain or slurm.reserved or over, f"in use at step {steps}"
            second = Process(1 + steps % 6, after)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(time, "sleep", lambda _: None)
                try:
                    quarantine.recover(summarize(log.entries()), second.of(slurm), second.of(log))
                except Killed:
                    pass
                ended, still = quarantine.recover(summarize(log.entries()), slurm, log)  # type: ignore[arg-type]
            assert not still and not slurm.reserved, f"step {steps}: {ended} {still}"
            assert summarize(log.entries()).quarantines == {}
            state = slurm.node("n1")
            if not state.drain:
                assert verdict == "PASS" and over, f"in use, killed at step {steps} before it had passed"
                assert "n1" not in summarize(log.entries()).drained, f"killed at step {steps}: nobody else resumed it"
                told = [(one.hook, one.node) for one in events.drains_and_releases(log.entries())]
                assert told[1:] == [("on-release", "n1")], f"killed at step {steps}: told once"
            else:
                assert state.reason == REASON


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
from nearfar.slurm.act import ActOptions, act, read_policy, retest
from nearfar.slurm.controller import Slurm
nodes, results, state = sys.argv[1:]
options = ActOptions(read_policy(None), Path(results), None, Path(state))
if nodes:
    request = retest.RetestOptions(nodes, "quick", None, "new")
    retest.run(request, options, Slurm(), lambda line: print(line, file=sys.stderr))
else:
    print(*act.run(options, Slurm())[1].recovered)
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
    sweeping.until(lambda: bool(list(retested.results.glob("*/jobs/*.claim"))), "the node is measured")
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
    sweeping.until(lambda: bool(list(retested.results.glob("*/jobs/*.claim"))), "the node is measured")
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
