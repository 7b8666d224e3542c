"""What alike figures of a node changed by together: taken out of each one's history, and told of where it is large and lasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from nearfar.base import Finding
from nearfar.measurement import Metric
from nearfar.verdict import baseline, common_factor
from nearfar.verdict.baseline import Baseline, Night
from nearfar.verdict.thresholds import BASELINE_NIGHTS, HOST_DAYS, HOST_SLOW
from tests.verdict.test_references import NODE, metric

FIRST = date(2026, 9, 1)
LEVEL = 55.4
GPUS = range(4)


def past(later: Sequence[float], first: date = FIRST, count: int = BASELINE_NIGHTS) -> Baseline:
    parts = [*[1.0] * count, *later]
    nights = [Night((first + timedelta(n)).isoformat(), LEVEL * part) for n, part in enumerate(parts)]
    found = baseline.of_nights(nights)
    assert found is not None
    return found


def lone(parts: Sequence[float], way: str = "n0:g{}") -> list[Metric]:
    """H2D of each GPU, which has a part of its level."""
    return [metric(way.format(gpu), LEVEL * part) for gpu, part in enumerate(parts)]


def without(
    nights: Sequence[Sequence[float]], now: Sequence[float], pasts: Mapping[int, Baseline] | None = None
) -> tuple[dict[str, Baseline], list[Finding]]:
    """Of GPUs with these nights each after their baselines, and these parts now."""
    metrics = lone(now)
    own = {gpu: past(each) for gpu, each in enumerate(nights)} | dict(pasts or {})
    return common_factor.without({m.name: own[gpu] for gpu, m in enumerate(metrics)}, metrics, NODE)


def worse(nights: Sequence[Sequence[float]], now: Sequence[float]) -> list[int]:
    """The GPUs whose figure is worse than its history."""
    found, _ = without(nights, now)
    return [gpu for gpu, m in enumerate(lone(now)) if baseline.worsening(m, found[m.name]) is not None]


@pytest.mark.parametrize("part", [0.985, 0.9, 1.015])
def test_a_change_of_all_paths_blames_none(part: float) -> None:
    assert worse([[part] * 20] * 4, [part] * 4) == []


def test_a_fault_is_found_within_a_season() -> None:
    season = [1 - 0.005 * min(night, 20) / 20 for night in range(40)]
    faulty = [each * (0.97 if night > 20 else 1) for night, each in enumerate(season)]
    assert worse([faulty, season, season, season], [0.995 * 0.97, 0.995, 0.995, 0.995]) == [0]


def test_a_fault_of_one_path_is_taken_from_no_other() -> None:
    found, _ = without([[0.97] * 5, [1.0] * 5, [1.0] * 5, [1.0] * 5], [0.97, 1.0, 1.0, 1.0])
    assert {each.common for each in found.values()} == {1.0}


def test_gpus_behind_one_bridge_are_not_alike() -> None:
    """Their common uplink would be hidden."""
    gpus = tuple(replace(gpu, uplinks=("0000:00:01.0",)) for gpu in NODE.gpus[:3])
    metrics = lone([0.98] * 3)
    pasts = {m.name: past([0.98] * 5) for m in metrics}
    found, _ = common_factor.without(pasts, metrics, replace(NODE, gpus=gpus))
    assert {each.common for each in found.values()} == {1.0}
    found, _ = common_factor.without(pasts, metrics, NODE)
    assert [each.common for each in found.values()] == pytest.approx([0.98] * 3)


def test_directions_are_not_alike() -> None:
    metrics = [*lone([0.98]), *lone([0.98], "g1:n0")]
    found, _ = common_factor.without({m.name: past([0.98] * 5) for m in metrics}, metrics, NODE)
    assert {each.common for each in found.values()} == {1.0}


def test_a_new_board_tells_nothing_of_an_old_change() -> None:
    """Its baseline is younger than what the others changed by."""
    old = [0.985] * 40
    new = past([1.0] * 3, FIRST + timedelta(40))
    found, _ = without([old] * 4, [0.985, 0.985, 0.985, 1.0], {3: new})
    assert [round(each.common, 3) for each in found.values()] == [0.985, 0.985, 0.985, 1.0]


@pytest.mark.parametrize("alone", [True, False])
def test_without_two_alike_a_figure_begins_anew_with_its_software(alone: bool) -> None:
    """The change of a single one is its own noise as well."""
    metrics = lone([0.985] * (2 if alone else 3))
    anew = past([], FIRST + timedelta(40), 6)
    before = replace(past([0.985] * 5), changed="driver 580 -> 590", anew=anew)
    found, _ = common_factor.without({m.name: before for m in metrics}, metrics, NODE)
    assert (found[metrics[0].name] == anew) == alone
    nothing, _ = common_factor.without({metrics[0].name: replace(before, anew=None)}, metrics[:1], NODE)
    assert nothing == {}, "on the first night with it there is no history"


def test_of_other_units_more_is_worse() -> None:
    metrics = [replace(m, unit="us", quantity="latency.copy", value=5.2) for m in lone([1.0] * 4)]
    before = replace(past([]), values=(5.0,) * BASELINE_NIGHTS, later=(Night("2026-10-01", 5.2),) * 10)
    _, (finding,) = common_factor.without({m.name: before for m in metrics}, metrics, NODE)
    assert (finding.code, finding.fields["percent"]) == ("history.common_fall", 4.0)


@pytest.mark.parametrize(
    "nights, now, told",
    [
        ([0.97] * 10, 0.97, True),
        ([1.0, 1.0, 0.97, 0.97], 0.97, True),
        ([1.0, 1.0, 1.0, 0.97], 0.97, False),
        ([0.97] * 10, 1.0, False),
        ([0.985] * 10, 0.985, False),
        ([1.03] * 10, 1.03, False),
    ],
)
def test_a_large_common_fall_that_lasts_is_told_once(nights: list[float], now: float, told: bool) -> None:
    _, findings = without([nights] * 4, [now] * 4)
    assert [each.code for each in findings] == ["history.common_fall"] * told
    if told:
        (finding,) = findings
        assert (finding.subject, finding.verdict, finding.hard) == ("near.h2d", "DEGRADED", False)
        assert finding.fields["figures"] == 4 and finding.fields["percent"] == 3.0
        assert HOST_SLOW <= finding.fields["slow_days"] <= finding.fields["days"] <= HOST_DAYS
