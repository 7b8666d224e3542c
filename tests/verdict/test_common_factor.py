"""What alike figures of a node lost together: taken out of each one's history, up to what no fault is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from nearfar.measurement import Metric
from nearfar.verdict import baseline, common_factor
from nearfar.verdict.baseline import Baseline, Night
from nearfar.verdict.thresholds import BASELINE_NIGHTS
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
) -> dict[str, Baseline]:
    """Of GPUs with these nights each after their baselines, and these parts now."""
    metrics = lone(now)
    own = {gpu: past(each) for gpu, each in enumerate(nights)} | dict(pasts or {})
    return common_factor.without({m.name: own[gpu] for gpu, m in enumerate(metrics)}, metrics, NODE)


def worse(nights: Sequence[Sequence[float]], now: Sequence[float]) -> list[int]:
    """The GPUs whose figure is worse than its history."""
    found = without(nights, now)
    return [gpu for gpu, m in enumerate(lone(now)) if baseline.worsening(m, found[m.name]) is not None]


@pytest.mark.parametrize("part, blamed", [(0.985, []), (1.015, []), (0.96, [0, 1, 2, 3]), (0.7, [0, 1, 2, 3])])
def test_a_small_loss_of_all_paths_blames_none(part: float, blamed: list[int]) -> None:
    """A season, a boot, a driver; what takes more is told."""
    assert worse([[part] * 20] * 4, [part] * 4) == blamed


def test_a_large_loss_is_told_before_the_baseline_is_whole() -> None:
    few = {gpu: past([], count=10) for gpu in GPUS}
    found = without([], [0.7] * 4, few)
    assert all(baseline.worsening(m, found[m.name]) is not None for m in lone([0.7] * 4))


@pytest.mark.parametrize("better", [1.05, float("nan"), float("inf"), 10.0])
def test_what_got_better_makes_no_other_worse(better: float) -> None:
    assert worse([[1.0] * 20] * 4, [1.0, better, better, better]) == []


def test_a_fault_is_found_within_a_season() -> None:
    season = [1 - 0.005 * min(night, 20) / 20 for night in range(40)]
    faulty = [each * (0.97 if night > 20 else 1) for night, each in enumerate(season)]
    assert worse([faulty, season, season, season], [0.995 * 0.97, 0.995, 0.995, 0.995]) == [0]


def test_a_fault_of_one_path_is_taken_from_no_other() -> None:
    found = without([[0.97] * 5, [1.0] * 5, [1.0] * 5, [1.0] * 5], [0.97, 1.0, 1.0, 1.0])
    assert {each.common for each in found.values()} == {1.0}


def test_gpus_behind_one_bridge_are_not_alike() -> None:
    """Their common uplink would be hidden."""
    gpus = tuple(replace(gpu, uplinks=("0000:00:01.0",)) for gpu in NODE.gpus[:3])
    metrics = lone([0.98] * 3)
    pasts = {m.name: past([0.98] * 5) for m in metrics}
    found = common_factor.without(pasts, metrics, replace(NODE, gpus=gpus))
    assert {each.common for each in found.values()} == {1.0}
    found = common_factor.without(pasts, metrics, NODE)
    assert [each.common for each in found.values()] == pytest.approx([0.98] * 3)


def test_directions_are_not_alike() -> None:
    metrics = [*lone([0.98]), *lone([0.98], "g1:n0")]
    found = common_factor.without({m.name: past([0.98] * 5) for m in metrics}, metrics, NODE)
    assert {each.common for each in found.values()} == {1.0}


def test_a_new_board_tells_nothing_of_an_old_change() -> None:
    """Its baseline is younger than what the others changed by."""
    old = [0.985] * 40
    new = past([1.0] * 3, FIRST + timedelta(40))
    found = without([old] * 4, [0.985, 0.985, 0.985, 1.0], {3: new})
    assert [round(each.common, 3) for each in found.values()] == [0.985, 0.985, 0.985, 1.0]


@pytest.mark.parametrize("alone", [True, False])
def test_without_two_alike_a_figure_begins_anew_with_its_software(alone: bool) -> None:
    """The change of a single one is its own noise as well."""
    metrics = lone([0.985] * (2 if alone else 3))
    anew = past([], FIRST + timedelta(40), 6)
    before = replace(past([0.985] * 5), changed="driver 580 -> 590", anew=anew)
    found = common_factor.without({m.name: before for m in metrics}, metrics, NODE)
    assert (found[metrics[0].name] == anew) == alone
    nothing = common_factor.without({metrics[0].name: replace(before, anew=None)}, metrics[:1], NODE)
    assert nothing == {}, "on the first night with it there is no history"


def test_of_a_time_more_is_a_loss() -> None:
    metrics = [replace(m, unit="us", quantity="latency.copy", value=5.05) for m in lone([1.0] * 4)]
    before = replace(past([]), values=(5.0,) * BASELINE_NIGHTS, later=(Night("2026-10-01", 5.05),) * 10)
    found = common_factor.without({m.name: before for m in metrics}, metrics, NODE)
    first = found[metrics[0].name]
    assert first.common == pytest.approx(5 / 5.05) and first.later[0].value == pytest.approx(5.0)
    assert baseline.worsening(metrics[0], first) is None


def test_alike_paths_that_share_a_gpu_are_one() -> None:
    """Two GPUs' link, both ways, says nothing of the others'."""
    names = ["g0:g1", "g2:g3", "g3:g2"]
    metrics = [metric(cell, LEVEL * 0.985, "NV18") for cell in names]
    found = common_factor.without({m.name: past([0.985] * 5) for m in metrics}, metrics, NODE)
    assert {each.common for each in found.values()} == {1.0}


def test_a_loss_with_new_software_that_is_too_large_begins_anew() -> None:
    metrics, anew = lone([0.96] * 4), past([], FIRST + timedelta(40), 6)
    before = replace(past([0.96] * 5), changed="driver 580 -> 590", anew=anew)
    assert common_factor.without({m.name: before for m in metrics}, metrics, NODE)[metrics[0].name] == anew
