"""`act` and `status` end with one code for whatever waits for a person; drained nodes that wait are told by `status` alone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge
from nearfar.slurm.findings import ActLog
from tests.slurm.status.test_status import NAMES, Fleet
from tests.support.node_results import leave

GOOD, WRONG_USE, COULD_NOT_JUDGE = 0, 2, 3


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    made = Fleet(tmp_path, monkeypatch)
    system = tmp_path / "site/systems/vm.yaml"
    system.write_text(system.read_text().replace("nodes: 3, share: 0.5", "nodes: 2, share: 0.5"))
    for name in NAMES:
        leave(made.results, name, f"f{name[1:]:0>7}", at=made.now - 120)
    return made


def wrong(fleet: Fleet, *nodes: str, check: str = "host_device_check", code: str = "wrong_data") -> None:
    for name in nodes:
        leave(fleet.results, name, f"a{name[1:]:0>7}", at=fleet.now - 60, check=check, wrong="x", code=code)


def slow_everywhere(fleet: Fleet) -> None:
    for name in NAMES:
        fleet.slow(name, 7200, 60)


def forged(fleet: Fleet) -> None:
    (leave(fleet.results, "n5", "00000005", at=fleet.now - 60) / "result.json").chmod(0o666)


def from_a_slow_clock(fleet: Fleet) -> None:
    os.utime(leave(fleet.results, "n6", "00000006", at=fleet.now - 7200), (fleet.now, fleet.now))


def resumed_by_a_person(fleet: Fleet) -> None:
    wrong(fleet, "n2")
    assert fleet.run("act") == GOOD
    time.sleep(1.1)  # Slurm keeps whole seconds
    fleet.slurm.resume("n2")
    fleet.run("act")


def of_no_system(fleet: Fleet) -> None:
    leave(fleet.results, "n3", "00000003", at=fleet.now - 60, wrong="x", system="other")


def unmounted(fleet: Fleet) -> None:
    fleet.run("act")
    fleet.results.rename(fleet.results.with_name("elsewhere"))
    fleet.results.mkdir()


def not_listed(fleet: Fleet) -> None:
    fleet.results.rename(fleet.results.with_name("elsewhere"))
    fleet.results.write_text("no directory")


def later_than_now(fleet: Fleet) -> None:
    fleet.state.mkdir(exist_ok=True)
    ActLog(fleet.state).note("latch", time.time() + 3600, why="the cap")


def damaged_log(fleet: Fleet) -> None:
    fleet.run("act")
    ActLog(fleet.state).note("rebooted", time.time(), "n1", booted=1.0)
    with ActLog(fleet.state).path.open("a") as stream:
        stream.write("not of this log\n")
    ActLog(fleet.state).note("rebooted", time.time(), "n1", booted=2.0)


def too_few_left(fleet: Fleet) -> None:
    for name in NAMES[2:]:
        fleet.slurm.drain(name, "moved")
    system = fleet.results.parent / "site/systems/vm.yaml"
    system.write_text(system.read_text().replace("  cap:\n", "  cap:\n    available: {share: 0.8}\n"))
    wrong(fleet, "n2")


def no_answer(fleet: Fleet) -> None:
    def silent() -> None:
        raise CouldNotJudge("scontrol: no answer")

    fleet.slurm.nodes = silent  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (lambda fleet: None, GOOD),
        (lambda fleet: fleet.slow("n2", 60), GOOD),
        (lambda fleet: fleet.slurm.drain("n4", "bad DIMM"), GOOD),
        (lambda fleet: wrong(fleet, "n1", "n2", "n3"), COULD_NOT_JUDGE),
        (lambda fleet: wrong(fleet, *NAMES, code="absent"), COULD_NOT_JUDGE),
        (slow_everywhere, COULD_NOT_JUDGE),
        (lambda fleet: wrong(fleet, "n2", check="peer_check"), COULD_NOT_JUDGE),
        (resumed_by_a_person, COULD_NOT_JUDGE),
        (too_few_left, COULD_NOT_JUDGE),
        (forged, COULD_NOT_JUDGE),
        (from_a_slow_clock, COULD_NOT_JUDGE),
        (of_no_system, COULD_NOT_JUDGE),
        (unmounted, COULD_NOT_JUDGE),
        (not_listed, WRONG_USE),
        (later_than_now, COULD_NOT_JUDGE),
        (damaged_log, COULD_NOT_JUDGE),
        (no_answer, COULD_NOT_JUDGE),
    ],
    ids=["nothing", "seen once", "drained by others", "a cap", "the same on all", "slow on all", "observed", "resumed", "the floor",
         "not believed", "a clock that is off", "another system", "not mounted", "no directory", "clock set back", "damaged log",
         "no slurmctld"],
)  # fmt: skip
def test_both_say_the_same(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], happens: Callable[[Fleet], None], code: int
) -> None:
    happens(fleet)
    codes = {words: fleet.run(*words) for words in (("act", "--dry-run"), ("act",), ("status",), ("act", "--dry-run"))}
    said = capsys.readouterr()
    assert set(codes.values()) == {code}, f"{codes}\n{said.out}\n{said.err}"


def test_a_drained_node_that_waits_is_no_failure_of_act(fleet: Fleet) -> None:
    """Its timer runs every few minutes: a unit that fails for as long as a repair takes says nothing."""
    wrong(fleet, "n2")
    fleet.slow("n3", 7200, 60)
    assert fleet.run("act", "--dry-run") == GOOD and fleet.run("status") == GOOD, "the next act drains them"
    assert fleet.run("act") == GOOD and fleet.run("act") == GOOD
    assert fleet.run("status") == COULD_NOT_JUDGE and fleet.run("status", "n2") == COULD_NOT_JUDGE
    assert fleet.run("status", "n4") == GOOD
    assert fleet.run("release", "n[2-3]", "--because", "x") == GOOD and fleet.run("status") == GOOD
