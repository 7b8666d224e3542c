"""The statistics of tuning: limits hold what they say, one mode is not called two, two are, bad hosts move nothing."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.schema_check import schema
from nearfar.history.tuning import limits
from nearfar.history.tuning.limits import TunedLimit
from nearfar.history.tuning.samples import NodeFigure, Pool, kind_of
from nearfar.verdict import thresholds

#: Of a node, which share its budget of false alarms.
FIGURES = 43


def made_of(figures: tuple[NodeFigure, ...], kind: str = "lone", unreliable: int = 0, unit: str = "GB/s") -> Pool:
    return Pool("host_device_check", "H200", "near.h2d", unit, kind, True, "", None, unreliable, figures)


def pool(values: dict[str, float] | list[float], kind: str = "windowed", unit: str = "GB/s") -> Pool:
    nodes = values if isinstance(values, dict) else {f"n{i:03}": value for i, value in enumerate(values)}
    return made_of(tuple(NodeFigure(node, "m", (value,)) for node, value in nodes.items()), kind, 0, unit)


def tuned(made: Pool) -> TunedLimit:
    found = limits.limit(made, FIGURES)
    assert isinstance(found, TunedLimit), found
    return found


def of_hosts(
    n: int, source: random.Random, deviation: float = 0.005, runs: int = 3, boards: int = 4
) -> list[NodeFigure]:
    """Boards that differ, each measured so many times."""
    found = []
    for host in range(n):
        for board in range(boards):
            level = 55 * source.gauss(1, deviation)
            found.append(
                NodeFigure(f"n{host:03}", f"g{board}", tuple(level * source.gauss(1, 0.001) for _ in range(runs)))
            )
    return found


def part(found: TunedLimit) -> float:
    """How far the FAIL bound lies from the value."""
    assert found.bound is not None
    return abs(found.bound / found.value - 1)


@pytest.mark.parametrize("kind", [kind for kind in thresholds.SPREAD if kind != "worst"])
def test_no_limit_is_nearer_than_its_floor(kind: str) -> None:
    is_time, sign = kind in ("latency", "percentile"), 1 if kind in ("latency", "percentile") else -1
    found = tuned(pool([55.5] * 1000, kind, "us" if is_time else "GB/s"))
    assert sign * (found.bound or 0) >= sign * 55.5 * (1 + sign * thresholds.FAIL_FLOOR[kind]) * (1 - sign * 1e-9)
    assert found.n == 1000 and found.aside == ()


def test_one_host_and_five_runs_give_near_limits() -> None:
    found = tuned(made_of(tuple(of_hosts(1, random.Random(1), runs=5, boards=1))))
    assert found.degraded is not None
    assert part(found) < 0.056 and 1 - found.degraded / found.value < 0.04


@pytest.mark.parametrize("n", [1, 3, 10, 100])
def test_a_clock_five_per_cent_low_fails_by_single_precision(n: int) -> None:
    hosts = [of_hosts(n, random.Random(seed), 0.003) for seed in range(20)]
    bounds = [tuned(made_of(tuple(own), "fp32")).bound or 0.0 for own in hosts]
    assert sum(0.95 * own[0].median < bound for own, bound in zip(hosts, bounds)) >= 19, bounds


@pytest.mark.parametrize(("kind", "fault"), [("nvlink", 17 / 18), ("stream", 7 / 8)])
@pytest.mark.parametrize("n", [3, 10, 100])
def test_a_lost_lane_and_a_lost_channel_fail(kind: str, fault: float, n: int) -> None:
    bounds = [tuned(made_of(tuple(of_hosts(n, random.Random(seed))), kind)).bound or 0.0 for seed in range(20)]
    assert sum(55 * fault < bound for bound in bounds) >= 18, bounds


def test_one_slow_run_moves_no_limit() -> None:
    figures = of_hosts(100, random.Random(2))
    before = tuned(made_of(tuple(figures)))
    slow = replace(figures[0], values=(figures[0].values[0] * 0.9, *figures[0].values[1:]))
    after = tuned(made_of((slow, *figures[1:])))
    assert abs(part(after) - part(before)) < 0.1 * part(before)


@pytest.mark.parametrize(("kind", "fault"), [("nvlink", 17 / 18), ("stream", 7 / 8)])
@pytest.mark.parametrize(("bad", "n"), [(1, 3), (1, 5), (2, 5), (3, 10)])
def test_bad_hosts_move_no_limit_and_are_named(kind: str, fault: float, bad: int, n: int) -> None:
    names = [f"n{host:03}" for host in range(bad)]
    figures = [
        replace(f, values=tuple(v * fault for v in f.values)) if f.node in names else f
        for f in of_hosts(n, random.Random(n + bad), 0.003)
    ]
    found = tuned(made_of(tuple(figures), kind))
    assert found.aside == tuple(names) and 55 * fault < (found.bound or 0.0), found


def test_hosts_of_which_most_are_worse_give_no_limit() -> None:
    found = limits.limit(pool({"gpu001": 260.0, "gpu002": 227.0, "gpu003": 228.0}, "stream"), FIGURES)
    assert isinstance(found, str) and "gpu001 at 260" in found and "gpu002, gpu003 at 22" in found


def test_two_vendors_of_memory_have_one_limit_and_a_lost_channel_fails() -> None:
    source = random.Random(7)
    hosts = {f"n{i}": 260 * (1 if i % 2 else 0.94) * source.gauss(1, 0.005) for i in range(31)}
    found = tuned(pool(hosts, "stream"))
    assert found.bound is not None and 0.94 * 260 * 7 / 8 < found.bound < 0.93 * 260


def test_figures_that_differ_have_wide_limits() -> None:
    source = random.Random(2)
    noisy = tuned(pool([55 * source.gauss(1, 0.02) for _ in range(60)], "lone"))
    assert 0.08 < part(noisy) < 0.2 and noisy.spread == pytest.approx(0.017, rel=0.25)
    wild = tuned(pool([55 * max(0.65, source.gauss(1, 0.15)) for _ in range(60)], "windowed"))
    assert part(wild) == pytest.approx(thresholds.CERTAINLY_BROKEN["windowed"])


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
        assert found.bound is not None and found.degraded is not None
        assert min(2 * found.value, 8.0) * 0.999 < found.degraded < 8.001, found
        assert 11.99 < found.bound < 16.01, found


def test_hosts_with_outliers_every_night_have_no_limit() -> None:
    nodes = {f"n{i}": 40.0 if i % 2 else 1.1 for i in range(9)}
    found = limits.limit(pool(nodes, "worst", "1"), FIGURES)
    assert isinstance(found, str) or found.bound is None


def test_worst_transfers_that_all_nodes_have_give_no_limit() -> None:
    found = tuned(pool({f"n{number}": 17.0 for number in range(4)}, "worst", "1"))
    assert found.bound is None and found.degraded is None


def test_a_worst_transfer_is_better_the_shorter_it_was() -> None:
    made = pool([1.05], "worst", "1")
    assert made.less_is_better and not pool([1.05], "windowed", "1").less_is_better
    place = ("tail_check", None, "sole_tail_worst.h2d")
    row = limits.row(place, tuned(made), made.less_is_better)
    assert row.lower is None and row.upper is not None and 10 <= row.upper <= 15 and row.degraded is not None


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
    limit = TunedLimit(middle, bound, None, 0.01, 40, "GB/s")
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
    assert isinstance(limits.limit(made_of(figures), FIGURES), TunedLimit)
    found = limits.limit(made_of(figures, unreliable=1), FIGURES)
    assert isinstance(found, str) and found.startswith("1 of its 4 figures were disturbed"), found


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


@pytest.mark.parametrize(
    ("cell", "quantity", "unit", "path_class", "kind"),
    [
        ("c0:n0/triad", "stream", "GB/s", "local", "stream"),
        ("g0:g0/triad", "stream", "GB/s", "device_local", "gpu"),
        ("g0.n0", "kernel.sgemm.rate", "GFLOP/s", "device_local", "fp32"),
        ("g0.n0", "kernel.bf16gemm.rate", "GFLOP/s", "device_local", "power"),
        ("g0:n0/triad", "stream", "GB/s", "near", "windowed"),
    ],
)
def test_kinds_of_kernels(cell: str, quantity: str, unit: str, path_class: str, kind: str) -> None:
    assert kind_of({"unit": unit, "quantity": quantity, "cell": cell, "engine": "cpu", "class": path_class}) == kind


@pytest.mark.parametrize("hosts", [1, 3])
def test_no_limit_lies_between_two_states_of_a_healthy_host(hosts: int) -> None:
    """A ping-pong of 8 bytes had 0.39 us in one of six runs of an idle host, and 0.17 us in the others."""
    runs = (0.17, 0.168, 0.39, 0.17, 0.171, 0.17)
    found = tuned(made_of(tuple(NodeFigure(f"n{host}", "m", runs) for host in range(hosts)), "latency", unit="us"))
    assert found.bound is None and found.degraded is None, found
    without = tuned(
        made_of(tuple(NodeFigure(f"n{host}", "m", runs[3:]) for host in range(hosts)), "latency", unit="us")
    )
    assert without.bound is not None and without.bound < 0.39


def test_a_gpu_file_sets_the_spread_of_nvlink() -> None:
    keys = schema("gpu-1")["properties"]["spread"]["properties"]
    assert {key: float(each["defaultText"]) for key, each in keys.items()} == {
        kind: thresholds.SPREAD[kind] for kind in ("lone", "nvlink", "gpu", "fp32", "power", "windowed")
    }
