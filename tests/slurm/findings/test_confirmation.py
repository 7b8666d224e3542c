"""When a slow figure may be acted on: two runs in a row judged it so, or so many nights were; hard evidence needs no second run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nearfar.base import Finding
from nearfar.site import Policy
from nearfar.site.drain_policy import NightRule
from nearfar.slurm.findings import confirmation
from nearfar.slurm.ledger import CheckRun

HOUR = 3600.0
NOW = 1_800_000_000.0
NAME = "sole.g2_n0"
SLOW = Finding(
    NAME, "FAIL", "slow", fields={"cell": "g2:n0", "class": "sole", "value": 27.1, "limit": 52.6, "unit": "GB/s"}
)
POLICY = Policy("s")
WRONG = Finding("g2:n0", "FAIL", "wrong data", True, "cell.wrong_data")


def ran(run: str, *failures: Finding, hours_ago: float = 1, check: str = "host_device_check") -> CheckRun:
    """A run that found this, or in which the figure passed."""
    ended, passed = NOW - hours_ago * HOUR, frozenset[str]() if failures else frozenset([NAME])
    return CheckRun("n1", check, run, ended - 60, ended, "FAIL" if failures else "PASS", failures, passed)


def stands(runs: Sequence[CheckRun], policy: Policy = POLICY, since: float = 0.0) -> tuple[bool, str]:
    """Whether the worst that is found may be acted on, and why."""
    found = confirmation.fails(runs, policy, since, NOW)
    return (found[0].stands, found[0].why) if found else (False, "")


def test_a_slow_figure_stands_once_another_run_was_as_slow() -> None:
    first = ran("r1", SLOW, hours_ago=20)
    assert stands([first]) == (False, "seen once: a second run has to confirm it")
    assert stands([first, ran("r2", SLOW)]) == (True, "confirmed by run r1")
    assert stands([first, ran("r2", SLOW)], since=NOW - 5 * HOUR)[0] is False, "one is of before a word about the node"
    assert stands([ran("r1", SLOW, hours_ago=41), ran("r2", SLOW, hours_ago=40)]) == (False, ""), "beyond max_age"


@pytest.mark.parametrize(
    ("between", "why"),
    [
        ([ran("r2", hours_ago=10)], "not confirmed: run r2"),
        ([ran("r3", SLOW)], "seen once"),  # the same run, found in two places
        ([replace(ran("r2", SLOW), started=NOW - HOUR - 30)], "seen once"),  # at the same time
        ([ran("r2", replace(SLOW, subject="sole.g1_n0"), hours_ago=10)], "seen once"),  # another figure
        ([ran("r2", SLOW, hours_ago=10, check="peer_check")], "seen once"),
        ([ran("r2", SLOW, hours_ago=8 * 24)], "too long ago"),
    ],
)  # fmt: skip
def test_what_confirms_nothing(between: list[CheckRun], why: str) -> None:
    found, words = stands([*between, ran("r3", SLOW)])
    assert not found and why in words


def nights(*days_ago: float) -> list[CheckRun]:
    """A run a night for a month, slow on some of them."""
    return [ran(f"r{day}", *([SLOW] if day in days_ago else []), hours_ago=1 + 24 * day) for day in range(31)]


def test_what_comes_and_goes_stands_by_the_nights_on_which_it_was_slow() -> None:
    assert stands(nights(0, 7, 29)) == (True, "slow on 3 of the last 30 nights (also in run r7, r29)")
    for fewer in ((0, 7), (0, 7, 30)):
        assert not stands(nights(*fewer))[0]
    assert stands(nights(1, 7, 20))[0], "on four nights of five it is well, and act may be a run late"
    assert not stands(nights(2, 7, 20))[0], "max_age is 36 hours"
    assert not stands(nights(0, 7, 20), since=NOW - 240 * HOUR)[0]


def test_an_intermittent_night_counts_and_alone_is_nothing() -> None:
    def seen(*fails: int) -> tuple[bool, str]:
        return stands([
            replace(run, verdict="DEGRADED", passed=frozenset([NAME]), intermittent=frozenset([NAME])) if day in (4, 9, 15) else run
            for day, run in enumerate(nights(*fails))
        ])  # fmt: skip

    assert seen(0) == (True, "slow on 4 of the last 30 nights (also in run r4, r9)")
    assert seen() == (False, "")


def test_several_runs_of_one_night_are_one_night() -> None:
    runs = [ran("w", hours_ago=100), *(ran(f"r{hour}", SLOW, hours_ago=hour) for hour in (1, 240, 242, 251))]
    assert not stands(runs)[0]
    assert stands([*runs, ran("x", SLOW, hours_ago=253)])[0], "253 and 240 hours ago are two"


@pytest.mark.parametrize(
    ("rule", "last", "found"), [(NightRule(2, 10), 7, True), (NightRule(2, 10), 10, False), (None, 7, False)]
)
def test_a_site_sets_how_many_nights(rule: NightRule | None, last: int, found: bool) -> None:
    assert stands(nights(0, last), Policy("s", intermittent=rule))[0] is found


def test_hard_evidence_stands_whatever_the_next_run_says() -> None:
    assert stands([ran("r1", WRONG, hours_ago=500), ran("r2")]) == (True, "hard evidence needs no second run")
    assert confirmation.slow_figures([ran("r1", WRONG)], Policy("s"), 0.0, NOW) == []


def test_the_worst_comes_first() -> None:
    slower = replace(SLOW, subject="sole.g1_n0", fields={**SLOW.fields, "value": 5.0})
    found: list[Any] = confirmation.fails([ran("r1", SLOW, WRONG, slower)], Policy("s"), 0.0, NOW)
    assert [each.finding for each in found] == [WRONG, slower, SLOW]
