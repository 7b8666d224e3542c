"""The statistics of tuning: limits cover what they say, one mode is not called two, two are."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar.base.statistics import deviation, spread
from nearfar.history.tuning import limits, tolerance
from nearfar.history.tuning.limits import Refusal, TunedLimit
from nearfar.history.tuning.samples import SLACK, NodeFigure, Pool
from nearfar.verdict.references import prediction_bound

#: Of a false FAIL, of one of 43 figures.
CHANCE = prediction_bound.chance(43)
COVERED = statistics.NormalDist().inv_cdf(0.01)


def pool(values: dict[str, float] | list[float], kind: str = "windowed", unit: str = "GB/s") -> Pool:
    nodes = values if isinstance(values, dict) else {f"n{i:03}": value for i, value in enumerate(values)}
    figures = tuple(NodeFigure(node, "m", (value,)) for node, value in nodes.items())
    return Pool("host_device_check", "H200", "near.h2d", unit, kind, True, "", None, 0, figures)


@pytest.mark.parametrize("n, k", [(10, 5.78), (20, 4.15), (30, 3.66), (100, 2.93)])
def test_factors_for_median_and_mad(n: int, k: float) -> None:
    assert tolerance.factor(n, 0.99, 0.95) == pytest.approx(k, abs=0.03)


def test_factors_never_grow_with_n() -> None:
    found = [tolerance.factor(n, 0.99, 0.95) for n in range(tolerance.LEAST_NODES, 299)]
    assert found == sorted(found, reverse=True)


def test_a_coverage_that_the_table_lacks_is_simulated() -> None:
    between = tolerance.factor(12, 0.98, 0.95)
    assert tolerance.factor(12, 0.95, 0.95) < between < tolerance.factor(12, 0.99, 0.95)


@pytest.mark.parametrize("n", [6, 15, 30])
def test_parametric_limits_cover(n: int) -> None:
    """In about 95 of 100 samples of n nodes the limit leaves 99 % of a normal distribution above it."""
    source, draws = random.Random(n), 1500
    held = 0
    for _ in range(draws):
        values = [source.gauss(0, 1) for _ in range(n)]
        k = tolerance.factor(n, 0.99, 0.95)
        held += statistics.median(values) - k * spread(values) <= COVERED
    assert held / draws == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize("n", [299, 500, 1000])
def test_order_statistics_cover_whatever_the_distribution(n: int) -> None:
    source, draws = random.Random(n), 400
    r = tolerance.rank(n, 0.99, 0.95)
    # Of a uniform distribution, which any continuous one can be made into.
    held = sum(sorted(source.random() for _ in range(n))[r - 1] <= 0.01 for _ in range(draws))
    assert held / draws >= 0.92


@given(st.floats(0.8, 0.999), st.floats(0.6, 0.99))
def test_the_rank_is_the_greatest_that_is_sure_enough(coverage: float, confidence: float) -> None:
    n = tolerance.least_for_rank(coverage, confidence)
    assert tolerance.rank(n, coverage, confidence) >= 1
    assert n == 1 or tolerance.rank(n - 1, coverage, confidence) == 0

    def sure(size: int, r: int) -> float:
        return 1 - sum(math.comb(size, i) * (1 - coverage) ** i * coverage ** (size - i) for i in range(r))

    size = min(n + 50, 900)
    r = tolerance.rank(size, coverage, confidence)
    assert r == 0 or sure(size, r) >= confidence - 1e-9
    assert sure(size, r + 1) < confidence + 1e-9


def test_known_ranks() -> None:
    assert tolerance.least_for_rank(0.99, 0.95) == 299
    assert [tolerance.rank(n, 0.99, 0.95) for n in (298, 299, 472, 473)] == [0, 1, 1, 2]


@pytest.mark.parametrize("bad", [0.0, 1.0, 99.0, float("nan"), -1.0])
def test_what_is_no_coverage_is_refused(bad: float) -> None:
    with pytest.raises(NearfarError, match="expected a part between"):
        tolerance.check(bad, 0.95)
    with pytest.raises(NearfarError, match="expected a part between"):
        tolerance.check(0.99, bad)


def near_a_ceiling(source: random.Random) -> float:
    """As rates are: just below what a link carries, with a tail below."""
    return 55.5 * (1 - 0.01 * source.expovariate(1))


SHAPES: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda source: source.gauss(55.5, 0.3),
    "wide": lambda source: source.gauss(55.5, 3),
    "below a ceiling": near_a_ceiling,
    "uniform": lambda source: source.uniform(50, 56),
    "quantised": lambda source: round(source.gauss(55.5, 0.3), 1),
    "latency": lambda source: 6 + source.expovariate(2),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [6, 12, 31, 120])
def test_one_group_is_rarely_called_two(shape: str, n: int) -> None:
    source, draws = random.Random(n), 400
    false = sum(
        limits.two_groups(pool([SHAPES[shape](source) for _ in range(n)], "lone")) is not None for _ in range(draws)
    )
    assert false <= 8, f"{false} of {draws}"


@settings(max_examples=60, deadline=None)
@given(st.integers(12, 60), st.floats(0.2, 0.8), st.floats(0.05, 0.5), st.integers(0, 2**30))
def test_two_groups_are_found_and_named(n: int, part: float, apart: float, seed: int) -> None:
    source = random.Random(seed)
    slow = max(2, round(part * n))
    values = {f"slow{i}": 55 * (1 - apart) * source.gauss(1, 0.002) for i in range(slow)}
    values |= {f"good{i}": 55 * source.gauss(1, 0.002) for i in range(max(2, n - slow))}
    found = limits.two_groups(pool(values, "lone"))
    assert found is not None
    low, high = found.removeprefix("two groups of nodes: ").split("; ")
    assert "slow" in low and "good" not in low and "slow" not in high, found


def test_one_bad_node_is_no_group() -> None:
    source = random.Random(4)
    values = [source.gauss(55, 0.1) for _ in range(20)] + [40.0]
    assert limits.two_groups(pool(values)) is None


def test_gpus_that_differ_by_their_slot_are_named() -> None:
    figures = tuple(
        NodeFigure(f"n{node}", f"near.n0_g{gpu}", (55.0 - 0.01 * node - (7 if gpu > 1 else 0),))
        for node in range(3)
        for gpu in range(4)
    )
    found = limits.limit(Pool("c", "H200", "near.h2d", "GB/s", "lone", True, "", None, 0, figures), 0.99, 0.95, CHANCE)
    assert isinstance(found, Refusal)
    assert "near.n0_g2, near.n0_g3 at" in found.why and "near.n0_g0, near.n0_g1 at" in found.why, found.why


def test_nodes_that_merely_differ_are_no_groups_of_figures() -> None:
    """Four GPUs each of two nodes that are 4 % apart: eight figures, and nothing to tell."""
    figures = tuple(
        NodeFigure(f"n{node}", f"g{gpu}", (55.0 - 2.2 * node - 0.01 * gpu,)) for node in range(2) for gpu in range(4)
    )
    assert limits.two_groups(Pool("c", "H200", "near.h2d", "GB/s", "lone", True, "", None, 0, figures)) is None


@pytest.mark.parametrize("kind", SLACK)
def test_the_limit_is_never_tighter_than_the_slack(kind: str) -> None:
    found = limits.limit(pool([55.5] * 30, kind, "us" if kind == "latency" else "GB/s"), 0.99, 0.95, CHANCE)
    assert isinstance(found, TunedLimit)
    assert found.bound == pytest.approx(55.5 * (1 + SLACK[kind] * (1 if kind == "latency" else -1)))
    assert (found.method, found.n, found.provisional, found.degraded) == ("parametric", 30, False, None)


def test_spread_widens_the_limit_to_the_tolerance() -> None:
    source = random.Random(1)
    values = [source.gauss(100, 3) for _ in range(40)]
    found = limits.limit(pool(values), 0.99, 0.95, CHANCE)
    assert isinstance(found, TunedLimit) and not found.provisional
    k = tolerance.factor(40, 0.99, 0.95)
    expected = statistics.median(values) - k * 1.4826 * deviation(values)
    assert found.bound == pytest.approx(expected, rel=1e-3) and found.bound < 95
    mirrored = limits.limit(pool([200 - value for value in values], "windowed", "us"), 0.99, 0.95, CHANCE)
    assert isinstance(mirrored, TunedLimit) and mirrored.bound == pytest.approx(200 - expected, rel=1e-3)


def test_many_nodes_need_no_distribution() -> None:
    source = random.Random(1)
    values = [100 - source.expovariate(0.5) for _ in range(299)]
    found = limits.limit(pool(values), 0.99, 0.95, CHANCE)
    assert isinstance(found, TunedLimit)
    assert (found.method, found.k, found.bound) == ("order statistic", 1, min(values))


def test_a_lone_limit_that_a_lost_lane_would_pass_is_refused() -> None:
    source = random.Random(1)
    values = [source.gauss(100, 2) for _ in range(40)]
    found = limits.limit(pool(values, "lone"), 0.99, 0.95, CHANCE)
    assert isinstance(found, Refusal) and "below 0.95 of the median" in found.why
    assert isinstance(limits.limit(pool(values), 0.99, 0.95, CHANCE), TunedLimit), "of a windowed cell it stands"


@given(st.floats(0.5, 4000), st.floats(0, 0.3), st.booleans())
def test_rows_are_never_tighter_than_their_limits(value: float, slack: float, less_is_better: bool) -> None:
    middle = float(f"{value:.4g}")
    bound = middle * (1 + slack) if less_is_better else middle * (1 - slack)
    limit = TunedLimit(middle, bound, "parametric", 3.0, 40, "GB/s")
    row = limits.row(("host_device_check", None, "sole.h2d"), limit, less_is_better)
    written = row.upper if less_is_better else row.lower
    assert isinstance(written, float)
    again = middle * (1 + written)
    assert again >= bound * (1 - 1e-7) if less_is_better else again <= bound * (1 + 1e-7)
    assert abs(again - bound) <= 1.1e-4 * middle


def test_no_node_counts_twice() -> None:
    """Sixteen figures of two nodes are two, whatever their number."""
    figures = tuple(NodeFigure(f"n{i % 2}", f"g{i}", (55.0, 55.1)) for i in range(16))
    found = limits.limit(Pool("c", "H200", "near.h2d", "GB/s", "lone", True, "", None, 0, figures), 0.99, 0.95, CHANCE)
    assert isinstance(found, TunedLimit) and (found.n, found.method) == (2, "prediction bound")


def test_what_is_left_of_figures_that_did_not_settle_is_refused() -> None:
    figures = (NodeFigure("n0", "g0", (55.0, 55.1, 55.2)),)
    for unreliable, refused in ((0, False), (1, True)):
        made = Pool("c", "H200", "near.h2d", "GB/s", "lone", True, "", None, unreliable, figures)
        found = limits.limit(made, 0.99, 0.95, CHANCE)
        assert isinstance(found, Refusal) == refused
    assert isinstance(found, Refusal) and found.why.startswith("1 of its 4 figures did not converge"), found


@given(st.integers(1, 28), st.floats(1e-7, 0.1), st.floats(1.01, 100))
def test_the_prediction_bound_comes_nearer_with_nodes_and_with_alarms_that_are_allowed(
    n: int, p: float, more: float
) -> None:
    assert prediction_bound.factor(n + 1, p) < prediction_bound.factor(n, p)
    assert prediction_bound.factor(n, min(0.5, p * more)) < prediction_bound.factor(n, p)
    for slack in SLACK.values():
        # What differs by less than was assumed brings it nearer, what differs by more takes it further.
        assumed = prediction_bound.assumed_spread(slack)
        alike, apart = (prediction_bound.spread(slack, n + 1, times * assumed, 0.0) for times in (0.5, 2.0))
        assert alike < prediction_bound.spread(slack, 1, 0.0, 0.0) < apart


@given(st.integers(1, 29), st.floats(0, 1), st.floats(1e-7, 0.1), st.sampled_from(sorted(SLACK)))
def test_the_prediction_bound_lies_between_the_slack_and_half(n: int, between: float, p: float, kind: str) -> None:
    slack = SLACK[kind]
    for less_is_better, widest in ((False, 0.5), (True, 1.0)):
        spread = prediction_bound.spread(slack, n, between, 0.0)
        assert slack <= prediction_bound.part(slack, n, p, spread, less_is_better) <= widest


#: For machines so many standard deviations about their mean: the part of them that lies below.
BELOW: dict[str, tuple[Callable[[random.Random], float], Callable[[float], float]]] = {
    "normal": (lambda source: source.gauss(0, 1), statistics.NormalDist().cdf),
    "below a ceiling": (lambda source: 1 - source.expovariate(1), lambda at: math.exp(min(0.0, at - 1))),
}


@pytest.mark.parametrize("shape", BELOW)
@pytest.mark.parametrize("n", [1, 3, 10, 29])
def test_healthy_nodes_rarely_lie_beyond_the_prediction_bound(shape: str, n: int) -> None:
    """Of machines that differ as was assumed: FAILs in 1,000 node-nights, of all figures together."""
    draw, below = BELOW[shape]
    source, deviation, chances = random.Random(n), prediction_bound.assumed_spread(SLACK["lone"]), []
    for _ in range(300):
        nodes = {f"n{i}": 55 * (1 + deviation * draw(source)) for i in range(n)}
        if limits.torn(pool(nodes, "lone")) is None and limits.two_groups(pool(nodes, "lone")) is None:
            found = limits.limit(pool(nodes, "lone"), 0.99, 0.95, CHANCE)
            assert isinstance(found, TunedLimit) and found.degraded is not None and found.bound <= found.degraded
            chances.append(below((found.bound / 55 - 1) / deviation))
    assert statistics.fmean(chances) * 43 * prediction_bound.NODE_NIGHTS <= (1 if shape == "normal" else 5)


@pytest.mark.parametrize("kind, unit, sign", [("lone", "GB/s", -1), ("latency", "us", 1)])
def test_few_nodes_have_two_bounds(kind: str, unit: str, sign: int) -> None:
    found = limits.limit(pool([55.5, 55.6, 55.4], kind, unit), 0.99, 0.95, CHANCE)
    assert isinstance(found, TunedLimit) and found.provisional and found.degraded is not None
    assert found.degraded == pytest.approx(55.5 * (1 + sign * SLACK[kind]))
    assert 0 < sign * (found.degraded - 55.5) < sign * (found.bound - 55.5)
    written = limits.row(("host_device_check", None, "near.h2d"), found, unit == "us")
    assert written.inner == ((None, SLACK[kind]) if sign > 0 else (-SLACK[kind], None))


def test_figures_of_one_node_that_differ_take_the_bound_further() -> None:
    calm, restless = (
        tuple(NodeFigure(f"n{i}", "m", tuple(55 * (1 + part) for part in parts)) for i in range(3))
        for parts in ((0.0, 0.0, 0.0, 0.0), (-0.02, -0.01, 0.01, 0.02))
    )
    bounds = []
    for figures in (calm, restless):
        one = limits.limit(Pool("c", "H200", "m", "GB/s", "lone", True, "", None, 0, figures), 0.99, 0.95, CHANCE)
        assert isinstance(one, TunedLimit)
        bounds.append(one.bound)
    assert bounds[1] < bounds[0]
