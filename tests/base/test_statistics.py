"""Median, deviation and interval; times and host names as text."""

from __future__ import annotations

import random
from datetime import datetime, timezone

import pytest

from nearfar.base import day_text, minute_text, name_text, short_host_name, statistics, utc_text, utc_time


@pytest.mark.parametrize(
    "n, expected", [(1, None), (3, None), (5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (20, (6, 15))]
)
def test_an_interval_needs_six_values(n: int, expected: tuple[int, int] | None) -> None:
    values = list(range(1, n + 1))
    random.Random(n).shuffle(values)
    assert statistics.median_interval(values) == expected


def test_intervals_hold_the_median_as_often_as_they_say() -> None:
    source, draws = random.Random(1), 2000
    pairs = [statistics.median_interval([source.gauss(0, 1) for _ in range(11)]) or (1, 0) for _ in range(draws)]
    assert 0.95 <= sum(low <= 0 <= high for low, high in pairs) / draws < 0.995


def test_one_wild_value_moves_no_deviation() -> None:
    assert statistics.deviation([1, 2, 3, 4, 1000]) == 1
    source = random.Random(2)
    assert statistics.spread([source.gauss(50, 2) for _ in range(4000)]) == pytest.approx(2, rel=0.06)


def test_moments_are_utc_whatever_they_are_given_as() -> None:
    moment = datetime(2026, 11, 20, 9, 0, 5, 999_999, timezone.utc)
    for at in (moment, moment.timestamp()):
        assert (utc_text(at), minute_text(at), day_text(at)) == (
            "2026-11-20T09:00:05Z", "2026-11-20 09:00", "2026-11-20",
        )  # fmt: skip
        assert name_text(at) == "20261120T090005"
    assert utc_time(utc_text(moment)) == moment.replace(microsecond=0)
    with pytest.raises(ValueError):
        utc_time("2026-11-20 09:00")


def test_a_host_without_its_domain() -> None:
    assert short_host_name("gpu001.cluster.example") == short_host_name("gpu001") == "gpu001"
