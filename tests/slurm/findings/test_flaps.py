"""A node that is drained again and again stays drained until a person has seen to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearfar.site.drain_policy import FlapRule
from nearfar.slurm.act.decide import NOTHING, RESUME, decide
from nearfar.slurm.act.waiting_nodes import not_to_be_retested
from nearfar.slurm.findings import hard_evidence
from nearfar.slurm.findings.flaps import Flaps
from nearfar.slurm.findings.log import ActLog
from nearfar.slurm.findings.log_summary import LogSummary, summarize
from tests.slurm.act.test_decide import HOUR, NOW, OURS, POLICY, SLOW, cluster, of, ran, state
from tests.slurm.act.test_drain_caps import policy_of

DRAIN_LINE = {"reason": OURS, "check": "host_device_check", "finding": SLOW.to_raw()}
SINCE = "2027-01-15 05:00:00 UTC"  # three hours before NOW


def log_of(folder: Path, *lines: tuple[str, float]) -> LogSummary:
    """The summary of a log of n1; the times are hours ago."""
    log = ActLog(folder)
    for action, hours in lines:
        at = NOW - hours * HOUR
        if action == "drain":
            log.end(log.begin("drain", at, "n1", **DRAIN_LINE), "done", at + 1)
        elif action == "release by a retest":
            log.note("release", at, "n1", reservation="nearfar-retest-1")
        elif action == "begun":
            log.begin("drain", at, "n1", **DRAIN_LINE)
        else:
            log.note(action, at, "n1", why="cable replaced")
    return summarize(log.entries())


def decided(past: LogSummary, rule: FlapRule | None = None) -> tuple[str, str]:
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS))
    policy = POLICY if rule is None else replace(POLICY, flaps=rule)
    return of(decide([ran("n1", "r9", passed=["sole.g2_n0"], hours_ago=0.1)], nodes, policy, past, NOW), "n1")


@pytest.mark.parametrize("between", ["resume", "release by a retest", "resumed_by_others"])
def test_drained_twice_within_a_day_it_waits_for_a_person(tmp_path: Path, between: str) -> None:
    past = log_of(tmp_path, ("drain", 3), (between, 2), ("drain", 1))
    action, why = decided(past)
    assert action == NOTHING
    assert why.startswith(f"flaps: drained 2 times since {SINCE}; ")
    assert decided(past, FlapRule(3))[0] == RESUME
    assert decided(past, FlapRule(2, HOUR))[0] == RESUME, "two hours apart"


@pytest.mark.parametrize(
    "lines",
    [
        [("drain", 3)],
        [("drain", 30), ("resume", 29), ("drain", 1)],  # more than a day apart
        [("drain", 3), ("drain", 2)],  # slurmctld was killed before it had saved the first: the same drain, done again
        [("begun", 3), ("drain", 2)],
        [("drain", 3), ("resume", 2), ("drain", 1), ("clear", 0.5)],
        [("drain", 5), ("clear", 4), ("resume", 3), ("drain", 1)],
        [("drain", 3), ("release", 2), ("drain", 1)],  # on a person's word
    ],
)
def test_what_is_no_flapping(tmp_path: Path, lines: list[tuple[str, float]]) -> None:
    assert decided(log_of(tmp_path, *lines))[0] == RESUME


def test_it_waits_however_long_it_stays_drained(tmp_path: Path) -> None:
    past = log_of(tmp_path, ("drain", 99), ("resume", 98), ("drain", 97))
    assert decided(past)[1].startswith("flaps: drained 2 times since")


def test_a_site_may_have_each_drain_seen_to(tmp_path: Path) -> None:
    assert decided(log_of(tmp_path, ("drain", 3)), FlapRule(1))[1].startswith(f"flaps: drained once since {SINCE}; ")


def test_a_retest_of_it_is_refused_until_then(tmp_path: Path) -> None:
    """It passes its retests: that is what flapping is."""
    one = state("n1", "DRAIN", reason=OURS)
    past = log_of(tmp_path, ("drain", 3), ("resume", 2), ("drain", 1))
    hard = hard_evidence.of_node((), "n1", one, past, NOW)
    assert "flaps: drained 2 times" in str(not_to_be_retested("n1", one, past, hard, POLICY))
    assert not_to_be_retested("n1", one, log_of(tmp_path, ("clear", 0.5)), hard, POLICY) is None


def test_in_the_system_file(tmp_path: Path) -> None:
    assert policy_of(tmp_path, "{}").flaps == FlapRule(2, 86400.0)
    assert policy_of(tmp_path, "{flaps: {drains: 3, within: 7d}}").flaps == FlapRule(3, 7 * 86400.0)
    assert policy_of(tmp_path, "{flaps: {within: 12h}}").flaps == FlapRule(2, 12 * 3600.0)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["drain", "resume", "clear"]), st.integers(0, 40)), max_size=12),
    st.integers(1, 4),
    st.integers(1, 60),
)
def test_against_a_simple_count(steps: list[tuple[str, int]], drains: int, within: int) -> None:
    """A node in use, or drained; the drains since a person's word count that are no older than the last one allows."""
    flaps, at, drained, times = Flaps(), 0, False, []
    for what, later in steps:
        at += later
        if what == "drain" and not drained:
            flaps.drained("n1", at)
            drained, times = True, [*times, at]
        elif what == "resume" and drained:
            flaps.resumed("n1")
            drained = False
        elif what == "clear":
            flaps.seen_to("n1")
            times = []
    lately = [time for time in times if times[-1] - time <= within]
    assert (flaps.words("n1", FlapRule(drains, within)) is not None) == (len(lately) >= drains)
