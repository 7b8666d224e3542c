"""A figure beside its own past: what is said of a night, a step and a drift, and what is not."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from nearfar.measurement import Metric
from nearfar.verdict import baseline
from nearfar.verdict.baseline import Baseline, Night, Worsening
from nearfar.verdict.thresholds import BASELINE_NIGHTS as NIGHTS
from tests.verdict.test_references import metric

FIRST = date(2026, 9, 1)
LEVEL = 55.4


def lone(value: float) -> Metric:
    return metric("n0:g0", value)


def past(values: Sequence[float], healthy: Callable[[int], bool] = lambda night: True) -> Baseline:
    days = [(FIRST + timedelta(night)).isoformat() for night in range(len(values))]
    found = baseline.of_nights([Night(day, value, healthy(n)) for n, (day, value) in enumerate(zip(days, values))])
    assert found is not None
    return found


def nights(count: int, sigma: float = 0.0025, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [LEVEL * (1 + source.gauss(0, sigma)) for _ in range(count)]


def first_word(values: Sequence[float], host: str = "own") -> tuple[int, Worsening, Baseline] | None:
    """The first night after the baseline on which something is said."""
    for night in range(NIGHTS, len(values)):
        before = replace(past(values[:night]), host=host)
        found = baseline.worsening(lone(values[night]), before)
        if found is not None:
            return night - NIGHTS + 1, found, before
    return None


def drifting(weekly: float, sigma: float, count: int = 80, seed: int = 1) -> list[float]:
    return [
        value * (1 - weekly * max(0, night - NIGHTS + 1) / 7)
        for night, value in enumerate(nights(NIGHTS + count, sigma, seed))
    ]


def stepping(part: float, sigma: float, count: int = 60, seed: int = 1) -> list[float]:
    return [value * (1 - part * (night >= NIGHTS)) for night, value in enumerate(nights(NIGHTS + count, sigma, seed))]


def test_a_slow_drift_is_seen_and_said() -> None:
    seen = first_word(drifting(0.001, 0.0025))
    assert seen is not None
    night, found, before = seen
    assert 20 < night <= 60
    assert (found.kind, before.since, len(before.values)) == ("drift", "2026-09-01", 28)
    assert found.weekly == pytest.approx(0.001, rel=0.6)
    assert found.since is not None and date.fromisoformat(found.since) >= FIRST + timedelta(NIGHTS - 1)
    words = baseline.words(lone(found.now), before, found)
    assert words.startswith(f"{found.now:.1f} GB/s drifted from 55.4 GB/s (28 nights from 2026-09-01 on), ")
    assert "% less, since about 2026-" in words and words.endswith(" % a week")


def test_a_drift_of_any_speed_is_seen_before_it_is_its_own_past() -> None:
    for weekly, latest in ((0.005, 25), (0.05, 9)):
        seen = first_word(drifting(weekly, 0.0025))
        assert seen is not None and seen[0] <= latest


def test_most_drifts_at_the_most_noise_are_seen_within_sixty_nights() -> None:
    found = [first_word(drifting(0.001, 0.003, seed=seed)) for seed in range(20)]
    assert sum(each is not None and each[0] <= 60 for each in found) >= 17


@pytest.mark.parametrize("part, latest", [(0.01, 7), (0.02, 6)])
def test_a_step_is_seen_within_nights_and_said(part: float, latest: int) -> None:
    seen = first_word(stepping(part, 0.0025))
    assert seen is not None
    night, found, before = seen
    assert night <= latest and found.kind == "step"
    words = baseline.words(lone(found.now), before, found)
    assert f"since about {found.since}, {100 * found.part:.1f} % less than its history: 55.4 GB/s" in words
    assert abs((date.fromisoformat(str(found.since)) - FIRST).days - NIGHTS) <= 2


def test_a_step_below_the_resolution_of_one_night_is_seen_in_the_end() -> None:
    assert sum(first_word(stepping(0.005, 0.0025, seed=seed)) is not None for seed in range(10)) >= 8


def test_healthy_nights_are_silent() -> None:
    for seed in range(8):
        assert first_word(nights(NIGHTS + 100, 0.003, seed)) is None


def test_one_bad_night_is_no_evidence_of_more() -> None:
    """It is a word of its own where it is far off; the sum counts it no more than others."""
    values = nights(NIGHTS + 10)
    values[NIGHTS + 2] = LEVEL * 0.5
    said = [baseline.worsening(lone(values[n]), past(values[:n])) for n in range(NIGHTS, len(values))]
    assert [each.kind for each in said if each is not None] == ["night"]


def test_what_was_worse_stays_in_the_sum_and_out_of_the_baseline() -> None:
    values = stepping(0.02, 0.0025)
    sick = past(values, lambda night: night < NIGHTS - 1)
    assert len(sick.values) == NIGHTS - 1 and not sick.later, "a baseline is not whole without its last healthy night"
    sick = past(values, lambda night: night < NIGHTS)
    assert sick.values == tuple(values[:NIGHTS]) and len(sick.later) == 60
    found = baseline.worsening(lone(values[-1]), sick)
    assert found is not None and found.kind == "step", "it goes on as long as it lasts"


def test_it_ends_within_nights_of_a_repair() -> None:
    values = [*stepping(0.02, 0.0025), *nights(20, seed=5)]
    said = [
        baseline.worsening(lone(values[n]), past(values[:n])) is not None for n in range(len(values) - 20, len(values))
    ]
    assert not any(said[6:])


def test_a_bad_week_on_a_shared_host_is_no_word_and_three_are() -> None:
    for weeks, expected in ((1, False), (3, True)):
        values = nights(NIGHTS + 40)
        values = [v * (0.99 if NIGHTS + 5 <= n < NIGHTS + 5 + 7 * weeks else 1) for n, v in enumerate(values)]
        assert (first_word(values, "shared") is not None) == expected


@pytest.mark.parametrize("low", [3, 9, 14, 20])
def test_a_node_may_sit_at_two_levels(low: int) -> None:
    """After some boots its figures are 1.5 % lower: a baseline that has both levels accepts both, and what is below both is worse."""
    values = [v * (0.985 if night % NIGHTS < low else 1) for night, v in enumerate(nights(NIGHTS + 60, 0.0005))]
    assert first_word(values) is None
    assert first_word([*values[:NIGHTS], *(v * 0.975 for v in values[NIGHTS:])]) is not None


def test_a_wild_night_in_the_baseline_moves_it_little() -> None:
    values = nights(NIGHTS)
    least, sigma = baseline.level(values, 1, 0.0025)
    wild, wide = baseline.level([*values[:-1], LEVEL / 2], 1, 0.0025)
    assert wild == pytest.approx(least, rel=0.001) and wide < 1.5 * sigma


def test_what_never_varies_has_the_resolution_of_its_kind() -> None:
    steady = past([LEVEL] * (NIGHTS + 20))
    assert baseline.level(steady.values, 1, 0.0025) == pytest.approx((LEVEL * (1 - 1.25 * 0.0025), LEVEL * 0.0025))
    assert baseline.worsening(lone(LEVEL * 0.9975), steady) is None


def test_before_the_baseline_is_whole_a_night_has_to_be_far_off() -> None:
    few = past([LEVEL] * 5)
    assert baseline.worsening(lone(LEVEL * 0.975), few) is None
    found = baseline.worsening(lone(LEVEL * 0.96), few)
    assert found is not None and found.kind == "night"
    assert baseline.worsening(lone(LEVEL * 0.5), past([LEVEL] * 4)) is None


def test_more_time_is_worse_and_less_is_not() -> None:
    longer = [6.0] * NIGHTS + [6.3] * 20
    latency = replace(lone(6.3), quantity="latency.copy", unit="us")
    found = baseline.worsening(latency, past(longer))
    assert found is not None and found.kind == "step"
    assert "5.0 % more than " in baseline.words(latency, past(longer), found)
    shorter = replace(latency, value=5.7, interval=(5.7, 5.7))
    assert baseline.worsening(shorter, past([6.0] * NIGHTS + [5.7] * 20)) is None


def test_better_than_before_is_never_worse() -> None:
    assert first_word([LEVEL] * NIGHTS + [LEVEL * 1.05] * 60) is None


def test_a_common_change_is_taken_out_and_named() -> None:
    values = stepping(0.005, 0.001)
    before = past(values)
    assert baseline.worsening(lone(values[-1]), before) is not None
    slow = lone(LEVEL * 0.95 * 0.985)
    common = replace(past(nights(NIGHTS)), common=0.985, changed="driver 580 -> 590")
    found = baseline.worsening(slow, common)
    assert found is not None and found.part == pytest.approx(0.05, abs=0.005)
    said = baseline.words(slow, common, found)
    assert said.endswith("; the node's other figures of this kind are 1.5 % worse as well; driver 580 -> 590")


def test_a_sum_of_several_gpus_has_no_slow_change_of_its_own() -> None:
    """A little less of it is the host's doing, which the paths of the sum tell."""
    total = metric("n0:g0+n0:g1", LEVEL * 0.985, "mixed", total=True)
    assert baseline.worsening(total, past(stepping(0.015, 0.001))) is None
    assert baseline.worsening(replace(total, value=LEVEL * 0.8, interval=None), past(nights(NIGHTS))) is not None


def test_nights_without_a_healthy_one_are_no_past() -> None:
    assert baseline.of_nights([]) is None
    assert baseline.of_nights([Night("2026-11-01", LEVEL, False)]) is None


def test_days_that_run_backwards_are_no_error() -> None:
    """A clock that was set back: the order is that of the recordings."""
    values = stepping(0.02, 0.0025)
    days = [(FIRST - timedelta(night)).isoformat() for night in range(len(values))]
    found = baseline.of_nights([Night(day, value) for day, value in zip(days, values)])
    assert found is not None and baseline.worsening(lone(values[-1]), found) is not None
