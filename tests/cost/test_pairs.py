"""What pairs of runs say: the median, an interval that holds at every look, and how soon a difference is settled."""

from __future__ import annotations

import itertools
import random

import pytest

from nearfar.cost import pairs


def drawn(rng: random.Random, effect: float, spread: float) -> tuple[float, float]:
    """A run of the reference and one that takes ``effect`` longer, each varying by ``spread``, on a machine that drifts."""
    drift = rng.uniform(0.7, 1.3)
    return drift * rng.gauss(1, spread), drift * (1 + effect) * rng.gauss(1, spread)


def settled_after(rng: random.Random, effect: float, spread: float, most: int) -> tuple[int | None, bool | None]:
    """After how many pairs the sign of the difference is settled, and which it is."""
    reference, scheme = [], []
    for count in range(1, most + 1):
        first, second = drawn(rng, effect, spread)
        reference.append(first)
        scheme.append(second)
        found = pairs.penalty(reference, scheme, less_is_better=True).above(0.0)
        if found is not None:
            return count, found
    return None, None


def test_twenty_percent_in_a_program_that_varies_by_five_is_settled_within_twelve_runs() -> None:
    rng = random.Random(20)
    found = [settled_after(rng, 0.2, 0.05, 6) for _ in range(1000)]
    assert sum(answer is True for _, answer in found) >= 950
    assert not any(answer is False for _, answer in found)


def test_no_difference_is_rarely_called_one_however_often_it_is_looked_at() -> None:
    rng = random.Random(21)
    found = [settled_after(rng, 0.0, 0.05, 40) for _ in range(1000)]
    assert sum(answer is not None for _, answer in found) <= 60


def test_the_chance_of_all_looks_together_is_exact() -> None:
    # Every sequence of sides for twelve pairs: how many are called a difference at any look.
    wrong = 0
    for sides in itertools.product((0, 1), repeat=12):
        above = 0
        for count, side in enumerate(sides, start=1):
            above += side
            skipped = pairs.left_out(count)
            if skipped is not None and (above <= skipped or above >= count - skipped):
                wrong += 1
                break
    assert 0.03 < wrong / 2**12 <= pairs.spent(12) < pairs.CHANCE


def test_the_interval_holds_the_median_at_every_look() -> None:
    rng = random.Random(22)
    missed = 0
    for _ in range(500):
        reference, scheme = [], []
        for _ in range(30):
            first, second = drawn(rng, 0.1, 0.05)
            reference.append(first)
            scheme.append(second)
            interval = pairs.penalty(reference, scheme, less_is_better=True).interval
            if interval is not None and not interval[0] <= 0.1 <= interval[1]:
                missed += 1
                break
    assert missed <= 30


def test_fewer_than_six_pairs_have_no_interval() -> None:
    five = pairs.penalty([1.0] * 5, [1.2] * 5, less_is_better=True)
    assert five.interval is None and five.above(0.0) is None and not five.within(1.0)
    assert pairs.penalty([1.0] * 6, [1.2] * 6, less_is_better=True).interval == pytest.approx((0.2, 0.2))


def test_a_cost_is_more_time_or_less_of_what_should_be_much() -> None:
    assert pairs.penalty([10.0], [12.0], less_is_better=True).value == pytest.approx(0.2)
    assert pairs.penalty([10.0], [8.0], less_is_better=False).value == pytest.approx(0.2)
    rates = pairs.penalty([10.0] * 6, [9.0, 8.0, 7.0, 8.0, 8.0, 8.5], less_is_better=False)
    assert rates.interval == pytest.approx((0.1, 0.3)) and (rates.least, rates.most) == pytest.approx((0.1, 0.3))


def test_drift_of_the_machine_falls_on_both() -> None:
    reference = [1.0, 2.0, 4.0, 8.0, 4.0, 2.0, 1.0]
    found = pairs.penalty(reference, [1.1 * value for value in reference], less_is_better=True)
    assert found.interval == pytest.approx((0.1, 0.1))


def test_a_wild_value_moves_neither_median_nor_interval_for_long() -> None:
    found = pairs.penalty([1.0] * 12, [1.1] * 11 + [50.0], less_is_better=True)
    assert found.value == pytest.approx(0.1) and found.interval == pytest.approx((0.1, 0.1))
