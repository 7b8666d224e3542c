"""The table of k of m nights, beside what is known of it and beside the rule itself."""

from __future__ import annotations

import random

import pytest

from benchmarks import nights
from nearfar.base import Finding
from nearfar.site.drain_policy import DrainSteps, NightRule, Policy
from nearfar.slurm.findings.confirmation import slow_figures
from nearfar.slurm.ledger import CheckRun

DAY = 86400.0
SLOW = Finding(
    "sole.g2_n0",
    "FAIL",
    "slow",
    fields={"cell": "g2:n0", "class": "sole", "value": 27.1, "limit": 52.6, "unit": "GB/s"},
)


def test_of_a_whole_month_it_is_the_binomial_tail() -> None:
    assert nights.drained(3, 30, 0.2, 0.0) == pytest.approx(1 - 0.8**30 - 30 * 0.2 * 0.8**29 - 435 * 0.04 * 0.8**28)


def test_the_default_meets_both_aims() -> None:
    rule = NightRule()
    assert nights.drained(rule.nights, rule.of, 0.2, 0.0) >= 0.95
    assert nights.wrongly(rule.nights, rule.of, 1) <= 0.05


def test_the_rule_itself_finds_as_many() -> None:
    """600 months of act, a call a night, without the rule of two runs in a row."""
    source, found = random.Random(16), 0
    policy = Policy("s", default=DrainSteps("drain", "drain"), confirm_within=0.0)
    for _ in range(600):
        runs: list[CheckRun] = []
        for night in range(30):
            bad = source.random() < 0.2
            end = night * DAY
            failures, passed = ((SLOW,), frozenset[str]()) if bad else ((), frozenset([SLOW.subject]))
            runs.append(CheckRun("n", "c", f"r{night}", end - 60, end, "FAIL" if bad else "PASS", failures, passed))
            if bad and any(each.stands for each in slow_figures(runs, policy, -DAY, end)):
                found += 1
                break
    assert found / 600 == pytest.approx(nights.drained(3, 30, 0.2, 0.0), abs=0.03)
