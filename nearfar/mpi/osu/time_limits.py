"""How long a run may take: OSU repeats each size a fixed number of times, which on a busy core is minutes.

A short trial tells what one repetition of each size costs. Where OSU's own repetitions fit into the budget they stay.
"""

from __future__ import annotations

from . import table
from .benchmarks import Benchmark
from .table import OsuTable

#: Messages up to this size are repeated more often, bytes.
SMALL = 8192
#: Fewer repetitions of a size than these say nothing.
FEWEST = 20
#: OSU warms up with about a tenth of its repetitions.
_WARM = 1.1
#: Messages of one repetition of the bandwidth benchmarks.
_WINDOW = 64


def seconds(benchmark: Benchmark, trial: OsuTable, iterations: int | None = None) -> float:
    """What a run takes, by a trial's figures: with so many repetitions of each size, or (None) with OSU's own."""
    small, large = benchmark.repeats if iterations is None else (iterations, iterations)
    by_size = _each(benchmark, trial)
    return _WARM * sum(once * (small if size <= SMALL else large) for size, once in by_size.items())


def fitting(benchmark: Benchmark, trial: OsuTable, budget: float) -> int | None:
    """Repetitions of each size for a run of ``budget`` seconds; None where OSU's own fit into it."""
    if seconds(benchmark, trial) <= budget:
        return None
    return max(FEWEST, int(budget / seconds(benchmark, trial, 1)))


def _each(benchmark: Benchmark, trial: OsuTable) -> dict[int, float]:
    """Seconds of one repetition by size in bytes, at the most: a trial's few messages at once hide less than a whole window."""
    quantity, unit = benchmark.quantities[0], benchmark.columns[0][2]
    figures = table.values(trial, benchmark, quantity)
    if unit == "us":
        ways = 2 if benchmark.folder == "pt2pt" else 1  # a latency is half of a round trip
        return {size: ways * value * 1e-6 for size, value in figures.items()}
    moved = _WINDOW * (trial.pairs or 1) * (2 if benchmark.name == "osu_bibw" else 1)
    return {size: moved * size / (value * 1e9) for size, value in figures.items()}
