"""The study of rules for a node's own past: its rule is the judge's, and its figures mean what they say."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from benchmarks import past_study
from nearfar.verdict import baseline
from tests.verdict.test_baseline import lone, past


@pytest.mark.parametrize("host", ["own", "shared"])
def test_the_rule_that_is_studied_is_the_judges(host: str) -> None:
    source = random.Random(1)
    for kind in ("white", "ar 0.6"):
        off = past_study.noise(kind, 0.3, baseline.NIGHTS + 60, source)
        values = [55.0 * (1 + each / 100) * (1 - max(0, night - 50) * 0.001) for night, each in enumerate(off)]
        said = [
            night - baseline.NIGHTS
            for night in range(baseline.NIGHTS, len(values))
            if (found := baseline.worsening(lone(values[night]), replace(past(values[:night]), host=host))) is not None
            and found.kind != "night"
        ]
        assert said == past_study.chosen(host)(values[: baseline.NIGHTS], values[baseline.NIGHTS :]) != []


def test_noise_has_the_spread_and_the_correlation_that_it_says() -> None:
    for kind, alike in (("white", 0.0), ("ar 0.6", 0.6)):
        off = past_study.noise(kind, 0.3, 20000, random.Random(2))
        squares = sum(each * each for each in off)
        assert (squares / len(off)) ** 0.5 == pytest.approx(0.3, rel=0.05)
        assert sum(a * b for a, b in zip(off, off[1:])) / squares == pytest.approx(alike, abs=0.03)  # noqa: RUF007


def test_the_bound_of_a_share() -> None:
    assert past_study.at_most(0, 400) == pytest.approx(0.00746, abs=1e-4)
    assert past_study.at_most(5, 400) == pytest.approx(0.0261, abs=1e-3)
    assert past_study.at_most(7, 7) == 1.0
