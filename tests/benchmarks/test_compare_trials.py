"""The trials of ``nearfar compare``: their tables, on few draws."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks import compare_trials
from tests.compare.made_runs import copies, make_run


def test_simulated_runs_differ_by_no_more_than_their_host() -> None:
    source = random.Random(1)
    quiet, noisy = ([compare_trials.simulated(source, host) for _ in range(5)] for host in ("quiet", "noisy"))
    assert not any(change.significant for change in compare_trials.compared(quiet[:3], quiet[3:], 0.0, lambda _: False))
    found = compare_trials.compared(noisy[:3], noisy[:3], 0.05, {0}.__contains__)
    assert [change.significant for change in found].index(True) == 0 and sum(c.significant for c in found) == 1


def test_benjamini_hochberg_finds_no_less_than_holm() -> None:
    source = random.Random(1)
    sides = ([compare_trials.simulated(source, "noisy") for _ in range(3)] for _ in range(2))
    found = compare_trials.compared(*sides, 0.02, lambda _: True)
    holm = {position for position, change in enumerate(found) if change.significant}
    assert holm and compare_trials.benjamini_hochberg(found) >= holm


def test_real_runs_are_compared_each_with_each(tmp_path: Path) -> None:
    runs = [make_run(tmp_path, number, {"host_device_check": copies()}) for number in range(1, 4)]
    *_, row = compare_trials.real(runs)
    assert row == "| 1 | 6 | 8 | 0 | 0% | 100% | 100% |"
    assert list(compare_trials.spread_table(runs))[2] == "| copies alone | 8 | 0.00% | 0.00% | 0.00% | 0.20% |"


def test_fleets_are_compared_node_by_node_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_trials, "NODES", 3)
    monkeypatch.setattr(compare_trials, "FLEET_CHANGES", (0.0, 0.05))
    *_, healthy, slow = list(compare_trials.fleets(random.Random(1), 1))[:4]
    assert healthy == "| quiet | as before | 0% |  |  |" and slow == "| quiet | −5.0% | 0% | 100% | 100% |"
