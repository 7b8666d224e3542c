"""The statistics of tuning: limits hold what they say, one mode is not called two, two are, bad hosts move nothing."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import limit_bounds
from nearfar.history.tuning import groups, limits, spread, tail
from nearfar.history.tuning.budget import chances
from nearfar.history.tuning.limits import Refusal, TunedLimit
from nearfar.history.tuning.samples import SLACK, NodeFigure, Pool, kind_of

#: Of one of 43 figures.
CHANCES = chances(43)


def made_of(figures: tuple[NodeFigure, ...], kind: str = "lone", unreliable: int = 0, unit: str = "GB/s") -> Pool:
    return Pool("host_device_check", "H200", "near.h2d", unit, kind, True, "", None, unreliable, figures)


def pool(values: dict[str, float] | list[float], kind: str = "windowed", unit: str = "GB/s") -> Pool:
    nodes = values if isinstance(values, dict) else {f"n{i:03}": value for i, value in enumerate(values)}
    return made_of(tuple(NodeFigure(node, "m", (value,)) for node, value in nodes.items()), kind, 0, unit)


def tuned(made: Pool) -> TunedLimit:
    found = limits.limit(made, CHANCES)
    assert isinstance(found, TunedLimit), found
    return found


def two_groups(made: Pool) -> str | None:
    return groups.apart(made, limits.MOST_BAD)[1]


@pytest.mark.parametrize(
    "freedom, p, expected", [(1, 0.025, 12.706), (4, 0.001, 7.173), (9, 1e-5, 8.102), (30, 1e-5, 5.054)]
)
def test_students_quantiles(freedom: int, p: float, expected: float) -> None:
    assert tail.student(freedom, p) == pytest.approx(expected, rel=2e-3)


def test_the_tail_of_a_skewed_distribution() -> None:
    """Of an exponential beyond its mean by x deviations lies exp(-1 - x); of a normal one what its quantile says."""
    for p in (1e-3, 1e-4, 1e-5):
        normal = -statistics.NormalDist().inv_cdf(p)
        assert tail.pearson(normal, 0.0) == normal
        assert tail.pearson(normal, 2.0) == pytest.approx(-math.log(p) - 1, rel=0.12)


@given(st.integers(1, 500), st.floats(0, 2), st.floats(1e-7, 0.01))
def test_limits_come_nearer_with_what_is_known(freedom: int, skewness: float, p: float) -> None:
    assert tail.factor(p, freedom + 1, skewness) <= tail.factor(p, freedom, skewness) * (1 + 1e-9)
    assert tail.factor(p, freedom, skewness) >= tail.settled(p, skewness) * (1 - 1e-6)
    assert tail.factor(p / 2, freedom, skewness) > tail.factor(p, freedom, skewness)


def test_hosts_boards_and_runs_are_estimated_apart() -> None:
    """Of many the deviation of the next figure is the root of all three variances together."""
    source = random.Random(1)
    parts = 0.004, 0.003, 0.005
    figures = []
    for host in range(60):
        level = source.gauss(0, parts[0])
        for _ in range(4):
            board = level + source.gauss(0, parts[1])
            runs = [board + source.gauss(0, parts[2]) for _ in range(5)]
            figures.append(spread.HostFigure(f"n{host}", statistics.median(runs), runs))
    found = spread.estimate(figures, "lone")
    assert found.deviation == pytest.approx(math.hypot(*parts), rel=0.15)
    assert found.run == pytest.approx(parts[2], rel=0.15)
    # The deviation of all depends on that of sixty hosts, and of far more boards and runs.
    assert 60 < found.freedom < 400 and found.skewness < 0.5


def test_what_an_interval_tells_stands_in_for_runs() -> None:
    """A figure that was measured once, with an interval of its own: a wide one takes the limit away."""
    bounds = []
    for error in (0.01, 2.0):
        figures = tuple(NodeFigure(f"n{i}", "m", (55.0 + 0.1 * i,), (error,)) for i in range(3))
        bounds.append(tuned(made_of(figures)).bound or 0.0)
    assert bounds[1] < bounds[0]


def test_a_run_with_a_wide_interval_weighs_less() -> None:
    alike = NodeFigure("n", "m", (55.0, 54.9, 50.0, 49.9), (0.1, 0.1, 0.1, 0.1))
    wide = NodeFigure("n", "m", (55.0, 54.9, 50.0, 49.9), (0.1, 0.1, 3.0, 3.0))
    assert alike.median == pytest.approx(52.45) and wide.median > 54


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
    false = sum(two_groups(pool([SHAPES[shape](source) for _ in range(n)], "lone")) is not None for _ in range(draws))
    assert false <= 8, f"{false} of {draws}"


@settings(max_examples=60, deadline=None)
@given(st.integers(12, 60), st.floats(0.36, 0.64), st.floats(0.05, 0.5), st.integers(0, 2**30))
def test_two_groups_are_found_and_named(n: int, part: float, apart: float, seed: int) -> None:
    source = random.Random(seed)
    slow = max(2, round(part * n))
    values = {f"slow{i}": 55 * (1 - apart) * source.gauss(1, 0.002) for i in range(slow)}
    values |= {f"good{i}": 55 * source.gauss(1, 0.002) for i in range(max(2, n - slow))}
    found = two_groups(pool(values, "lone"))
    assert found is not None
    low, high = found.removeprefix("two groups of nodes: ").split("; ")
    assert "slow" in low and "good" not in low and "slow" not in high, found


def test_one_bad_node_is_no_group() -> None:
    source = random.Random(4)
    values = [source.gauss(55, 0.1) for _ in range(20)] + [40.0]
    assert two_groups(pool(values)) is None


def test_gpus_that_differ_by_their_slot_are_named() -> None:
    figures = tuple(
        NodeFigure(f"n{node}", f"near.n0_g{gpu}", (55.0 - 0.01 * node - (7 if gpu > 1 else 0),))
        for node in range(3)
        for gpu in range(4)
    )
    found = limits.limit(made_of(figures), CHANCES)
    assert isinstance(found, Refusal)
    assert "near.n0_g2, near.n0_g3 at" in found.why and "near.n0_g0, near.n0_g1 at" in found.why, found.why


def test_nodes_that_merely_differ_are_no_groups_of_figures() -> None:
    """Four GPUs each of two nodes that are 4 % apart: eight figures, and nothing to tell."""
    figures = tuple(
        NodeFigure(f"n{node}", f"g{gpu}", (55.0 - 2.2 * node - 0.01 * gpu,)) for node in range(2) for gpu in range(4)
    )
    assert two_groups(made_of(figures)) is None


@pytest.mark.parametrize("kind", [kind for kind in SLACK if kind not in ("percentile", "worst")])
@pytest.mark.parametrize("n", [24, 60])
def test_two_kinds_of_parts_five_per_cent_apart_are_told(kind: str, n: int) -> None:
    """Two vendors' memory: one limit for both would let a lost channel of the better pass."""
    source = random.Random(n)
    values = [260 * (1 if i % 2 else 0.95) * source.gauss(1, 0.003) for i in range(n)]
    found = two_groups(pool(values, kind))
    assert found is not None and found.startswith("two groups of nodes:")


@pytest.mark.parametrize("kind", [kind for kind in SLACK if kind != "worst"])
def test_the_limit_is_never_tighter_than_the_slack(kind: str) -> None:
    is_time = kind in ("latency", "percentile")
    found = tuned(pool([55.5] * 100, kind, "us" if is_time else "GB/s"))
    assert found.bound == pytest.approx(55.5 * (1 + SLACK[kind] * (1 if is_time else -1)), rel=1e-3)
    assert (found.n, found.provisional, found.described, found.degraded) == (100, False, False, None)


def of_worst(source: random.Random, n: int, disturbed: float = 0.0) -> Pool:
    """The slowest of 1,000 transfers over the median one, of four paths of each of ``n`` hosts in three runs; a part of the runs is
    disturbed and twice to four times as long."""

    def one() -> float:
        return 1.03 + source.expovariate(50) + (source.uniform(1, 3) if source.random() < disturbed else 0.0)

    nodes = [f"n{i:03}" for i in range(n)]
    return made_of(
        tuple(NodeFigure(node, f"m{path}", (one(), one(), one())) for node in nodes for path in range(4)),
        "worst",
        0,
        "1",
    )


@pytest.mark.parametrize("n", [1, 3, 10, 30, 100])
@pytest.mark.parametrize("disturbed", [0.0, 0.1, 0.3])
def test_the_worst_of_many_transfers(n: int, disturbed: float) -> None:
    """A row is made from few hosts too; what a neighbour does is no FAIL of it, and sixteen times the median never as expected."""
    for seed in range(10):
        found = tuned(of_worst(random.Random(seed), n, disturbed))
        assert found.bound is not None and found.as_expected is not None
        assert min(2 * found.value, 8.0) * 0.999 < found.as_expected < 8.001, found
        assert 11.99 < found.bound < 16.01, found


def test_hosts_with_outliers_every_night_have_a_described_row() -> None:
    nodes = {f"n{i}": 16.0 if i % 2 else 1.1 for i in range(8)}
    found = limits.limit(pool(nodes, "worst", "1"), CHANCES)
    assert isinstance(found, Refusal) or found.described


def test_a_worst_transfer_is_better_the_shorter_it_was() -> None:
    made = pool([1.05], "worst", "1")
    assert made.less_is_better and not pool([1.05], "windowed", "1").less_is_better
    place = ("tail_check", None, "sole_tail_worst.h2d")
    row = limits.row(place, tuned(made), made.less_is_better)
    assert row.lower is None and row.upper is not None and 11 <= row.upper <= 15 and row.degraded is not None


def test_times_are_mirrored() -> None:
    source = random.Random(1)
    values = [source.gauss(100, 1.5) for _ in range(40)]
    rate, time = tuned(pool(values)), tuned(pool([200 - value for value in values], "windowed", "us"))
    assert rate.bound is not None and time.bound is not None
    assert rate.bound < 95 and time.bound == pytest.approx(200 - rate.bound, rel=5e-3)


@given(st.floats(0.5, 4000), st.floats(0, 0.3), st.booleans())
def test_rows_are_never_tighter_than_their_limits(value: float, part: float, less_is_better: bool) -> None:
    middle = float(f"{value:.4g}")
    bound = middle * (1 + part) if less_is_better else middle * (1 - part)
    limit = TunedLimit(middle, bound, None, 3.0, 0.01, 40, "GB/s")
    row = limits.row(("host_device_check", None, "sole.h2d"), limit, less_is_better)
    written = row.upper if less_is_better else row.lower
    assert isinstance(written, float)
    again = middle * (1 + written)
    assert again >= bound * (1 - 1e-7) if less_is_better else again <= bound * (1 + 1e-7)
    assert abs(again - bound) <= 1.1e-4 * middle


def test_no_node_counts_twice() -> None:
    """Sixteen figures of two nodes are two, whatever their number."""
    assert tuned(made_of(tuple(NodeFigure(f"n{i % 2}", f"g{i}", (55.0, 55.1)) for i in range(16)))).n == 2


def test_what_is_left_of_figures_that_were_disturbed_is_refused() -> None:
    figures = (NodeFigure("n0", "g0", (55.0, 55.1, 55.2)),)
    assert isinstance(limits.limit(made_of(figures), CHANCES), TunedLimit)
    found = limits.limit(made_of(figures, unreliable=1), CHANCES)
    assert isinstance(found, Refusal) and found.why.startswith("1 of its 4 figures were disturbed"), found


#: For machines so many standard deviations about their mean: the part of them that lies below.
BELOW: dict[str, tuple[Callable[[random.Random], float], Callable[[float], float]]] = {
    "normal": (lambda source: source.gauss(0, 1), statistics.NormalDist().cdf),
    "below a ceiling": (lambda source: 1 - source.expovariate(1), lambda at: math.exp(min(0.0, at - 1))),
}


@pytest.mark.parametrize("shape", BELOW)
@pytest.mark.parametrize("n", [3, 5, 10, 30, 100])
def test_healthy_hosts_are_rarely_beyond(shape: str, n: int) -> None:
    """Of hosts that differ by 0.3 %: FAIL and DEGRADED in 1,000 node-nights of 43 figures."""
    draw, below = BELOW[shape]
    source, fails, degrades = random.Random(n), [], []
    for _ in range(40):
        made = made_of(
            tuple(NodeFigure(f"n{i}", f"g{g}", (55 * (1 + 0.003 * draw(source)),)) for i in range(n) for g in range(4))
        )
        found = tuned(made)
        assert found.bound is not None and (found.degraded is None or found.bound < found.degraded)
        fails.append(below((found.bound / 55 - 1) / 0.003))
        degrades.append(below(((found.degraded or found.bound) / 55 - 1) / 0.003))
    assert statistics.fmean(fails) * 43_000 <= 1 and statistics.fmean(degrades) * 43_000 <= 10


@pytest.mark.parametrize("n", [10, 30])
def test_from_ten_hosts_on_a_lane_is_told_from_a_bad_day(n: int) -> None:
    source, near = random.Random(n), 0
    for _ in range(40):
        figures = (NodeFigure(f"n{i}", f"g{g}", (55 * source.gauss(1, 0.004),)) for i in range(n) for g in range(4))
        found = tuned(made_of(tuple(figures)))
        near += found.bound is not None and found.bound >= 0.96 * found.value
    assert near >= 36


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("part", [0.1, 0.3])
def test_bad_hosts_move_no_limit_and_are_named(n: int, part: float) -> None:
    source = random.Random(n)
    good = {f"good{i}": 55 * source.gauss(1, 0.003) for i in range(n - round(part * n))}
    bad = {f"bad{i}": 55 * 0.944 * source.gauss(1, 0.003) for i in range(round(part * n))}
    alone, with_bad = tuned(pool(good, "lone")), tuned(pool({**good, **bad}, "lone"))
    assert with_bad.bound == pytest.approx(alone.bound, rel=1e-6) and with_bad.aside == tuple(sorted(bad))


def test_few_hosts_are_provisional_and_many_that_differ_are_described() -> None:
    few = tuned(pool([55.5, 55.6, 55.4], "lone"))
    assert (few.provisional, few.described) == (True, False)
    assert few.bound is not None and few.degraded is not None and few.bound < few.degraded < 0.98 * few.value
    source = random.Random(2)
    noisy = tuned(pool([55 * source.gauss(1, 0.02) for _ in range(60)], "lone"))
    assert (noisy.provisional, noisy.described) == (False, True)
    assert noisy.bound is not None and noisy.degraded is not None and 0.6 * noisy.value <= noisy.bound < noisy.degraded
    written = limits.row(("host_device_check", None, "near.h2d"), noisy, False)
    assert written.provenance["described"] is True and written.provenance["spread"] == pytest.approx(0.02, rel=0.2)


def test_what_differs_by_as_much_as_it_is_has_no_limit() -> None:
    source = random.Random(3)
    values = [55 * max(0.4, source.gauss(1, 0.15)) for _ in range(60)]
    found = tuned(pool(values, "windowed"))
    assert found.described and found.bound is None and found.as_expected is None
    assert limits.row(("host_device_check", None, "near.h2d"), found, False).lower is None


@pytest.mark.parametrize("shape", ["normal", "ceiling, exponential"])
def test_twelve_tunes_in_a_row_leave_the_false_alarms_where_they_were(shape: str) -> None:
    """Each of one file, from all nights so far: limits neither come nearer with each tune nor follow what they let pass."""
    source = random.Random(12)
    runs = [limit_bounds.retuned(shape, 10, 12, source) for _ in range(6)]
    for word, most in ((0, 1), (1, 10)):
        first, last = (statistics.fmean(run[at][word] for run in runs) for at in (0, -1))
        assert last <= max(most, 1.5 * first), (first, last)


@pytest.mark.parametrize(
    ("cell", "kind"), [("c0:n0/triad", "stream"), ("g0:g0/triad", "windowed"), ("g0:g0/triad+g1:g1/triad", "windowed")]
)
def test_kernels_of_gpus_have_the_slack_of_kernels(cell: str, kind: str) -> None:
    assert kind_of({"unit": "GB/s", "quantity": "stream", "cell": cell, "engine": "cpu", "class": "local"}) == kind


@pytest.mark.parametrize("hosts", [1, 3])
def test_no_limit_lies_between_two_states_of_a_healthy_host(hosts: int) -> None:
    """A ping-pong of 8 bytes had 0.39 us in one of six runs of an idle host, and 0.17 us in the others."""
    runs = (0.17, 0.168, 0.39, 0.17, 0.171, 0.17)
    found = tuned(made_of(tuple(NodeFigure(f"n{host}", "m", runs) for host in range(hosts)), "latency", unit="us"))
    assert found.bound is None and found.degraded is None and found.described, found
    without = tuned(
        made_of(tuple(NodeFigure(f"n{host}", "m", runs[3:]) for host in range(hosts)), "latency", unit="us")
    )
    assert without.bound is not None and without.bound < 0.39
