"""The change of one figure, its interval, and the shared budget."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from nearfar.base import student
from nearfar.compare import changes, sides, spreads
from nearfar.verdict import JudgedMetric
from tests.compare.made_runs import copy, latency
from tests.support.verdicts import judged_metric

NODES = ("n", "n")


def runs(*metrics: JudgedMetric, quick: bool = False) -> list[sides.RunFigure]:
    return [sides.RunFigure(metric, quick) for metric in metrics]


def change(before: list[float], after: list[float]) -> changes.FigureChange:
    return changes.of_figure(
        NODES, "c", *(runs(*(copy("near.n0_g0", value) for value in each)) for each in (before, after))
    )


def test_a_change_is_a_ratio_with_an_interval_of_visits_and_assumed_spread() -> None:
    found = change([50.0], [49.0])
    assert found.change == pytest.approx(-0.02) and found.worse and not found.less_is_better
    own = math.sqrt(spreads.ASSUMED["lone"] ** 2 + (0.002 / 1.96) ** 2)
    reach = student.quantile(0.05, spreads.WEIGHT) * own * math.sqrt(2)
    assert found.interval == pytest.approx((0.98 * math.exp(-reach) - 1, 0.98 * math.exp(reach) - 1))


def test_more_runs_make_it_sharper_and_their_own_spread_counts() -> None:
    quiet, noisy = change([50.0] * 5, [49.8] * 5), change([49, 50, 51, 49, 51], [48.8, 49.8, 50.8, 48.8, 50.8])
    width = [one.interval[1] - one.interval[0] for one in (change([50.0], [49.8]), quiet, noisy)]
    assert width[1] < width[0] / 2 and width[2] > 3 * width[1]


def test_of_a_time_less_is_better() -> None:
    found = changes.of_figure(NODES, "c", runs(latency(1.0)), runs(latency(1.2)))
    assert found.less_is_better and found.worse and found.change == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"disturbance": "cpus"}, "disturbed"),
        ({"throttled": True}, "throttled"),
        ({"verified": False}, "not verified"),
        ({"contended": True}, "beside traffic"),
        ({"converged": False}, "not converged"),
        ({"bytes": 1}, "sizes differ"),
    ],
)
def test_a_doubtful_figure_is_never_significant(parts: dict[str, object], words: str) -> None:
    (found,) = changes.decided(
        [changes.of_figure(NODES, "c", runs(copy("near.n0_g0", 50.0)), runs(copy("near.n0_g0", 25.0, **parts)))]
    )
    assert found.doubts == (words,) and not found.significant and not found.tested and found.seen_from is None


def test_a_size_that_a_program_fits_is_the_same() -> None:
    fitted = runs(copy("near.n0_g0", 50.0, bytes=264241152))
    assert not changes.of_figure(NODES, "c", runs(copy("near.n0_g0", 50.0, bytes=263192576)), fitted).doubts


def test_a_quick_look_is_doubtful() -> None:
    quick = runs(copy("near.n0_g0", 25.0), quick=True)
    assert changes.of_figure(NODES, "c", runs(copy("near.n0_g0", 50.0)), quick).doubts == ("--quick",)


def test_runs_without_doubt_are_used_alone() -> None:
    after = runs(copy("near.n0_g0", 50.0), copy("near.n0_g0", 30.0, disturbance="cpus"))
    found = changes.of_figure(NODES, "c", runs(copy("near.n0_g0", 50.0)), after)
    assert (found.change, found.after.runs, found.after.left_out, found.doubts) == (0.0, 1, 1, ())


def test_what_did_not_converge_counts_from_three_runs_a_side_on() -> None:
    loose = runs(*(copy("near.n0_g0", value, converged=False) for value in (40.0, 40.1, 39.9)))
    firm = runs(*(copy("near.n0_g0", value) for value in (50.0, 50.1, 49.9)))
    assert changes.of_figure(NODES, "c", firm[:2], loose).doubts == ("not converged",)
    assert changes.decided([changes.of_figure(NODES, "c", firm, loose)])[0].significant


def test_a_run_that_did_not_converge_hides_nothing_that_the_others_show() -> None:
    before = runs(
        copy("near.n0_g0", 44.0, converged=False), *(copy("near.n0_g0", value) for value in (50.0, 50.1, 49.9))
    )
    found = changes.of_figure(NODES, "c", before, runs(copy("near.n0_g0", 48.0)))
    assert found.change == pytest.approx(-0.04, abs=1e-3) and found.before.left_out == 1
    assert changes.decided([found])[0].significant


def test_one_budget_is_shared() -> None:
    near = change([50.0], [49.4])  # by itself 1.2 % is beyond its interval
    assert changes.decided([near])[0].significant
    crowd = changes.decided([near, *[change([50.0], [50.0])] * 99])
    assert not any(one.significant for one in crowd)
    assert crowd[0].seen_from is not None and 0.012 < crowd[0].seen_from < 0.03


def test_holm_gives_the_rest_of_the_budget_to_the_others() -> None:
    clear, near = change([50.0], [45.0]), change([50.0], [49.35])
    alone = changes.decided([near, *[change([50.0], [50.0])] * 19])
    beside = changes.decided([near, *[clear] * 19])
    assert [one[0].significant for one in (alone, beside)] == [False, True]


def test_shares_and_ratios_are_not_counted() -> None:
    share = judged_metric(subject="n0:g0+g0:n0", name="near.n0_g0__g0_n0.of.n0_g0")
    flow = share.cell.flows[0] if share.cell else None

    assert not sides.counted(replace(share, flow=flow)) and sides.counted(share)
    assert not sides.counted(judged_metric(quantity="ratio", unit="1"))


def test_a_change_of_many_nodes_is_found_where_each_alone_hides_it() -> None:
    source = random.Random(1)
    each = []
    for node in range(20):
        level = 50 * source.uniform(0.98, 1.02)
        one, other = (runs(copy("near.n0_g0", level * part * source.gauss(1, 0.0005))) for part in (1, 0.992))
        each.append(changes.of_figure((f"n{node}", f"n{node}"), "c", one, other))
    together = changes.across_nodes(each)
    marked = changes.decided([together, *each])
    assert [one.significant for one in marked] == [True] + [False] * 20
    assert marked[0].across and marked[0].change == pytest.approx(-0.008, abs=5e-4)


def test_a_quiet_hosts_sums_are_assumed_to_differ_less() -> None:
    cell = {"subject": "n0:g0+g0:n0"}
    quiet, noisy = (copy("near.n0_g0", 100.0, **cell, interval=(100 - half, 100 + half)) for half in (0.3, 4.0))
    assert [spreads.assumed(metric) for metric in (quiet, noisy)] == pytest.approx([0.003, 0.015])
    assert spreads.assumed(copy("near.n0_g0", 100.0, **cell, interval=None)) == 0.015
    assert spreads.assumed(latency(1.0)) == spreads.ASSUMED["loads"], (
        "of times the visits of a run do not tell the next"
    )
