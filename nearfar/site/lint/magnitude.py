"""Values whose size betrays another unit: MB/s for GB/s, ns for µs, per cent for parts of one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from nearfar.verdict import thresholds

from .complaints import ERROR

#: No host has memory beyond this, GB/s (four NUMA nodes of the fastest), and none is below the other. STREAM and OSU print MB/s.
MOST_MEMORY, LEAST_MEMORY = 4 * thresholds.MOST_OF_NUMA_NODE, 0.5
#: MPI moves no more than this between the ranks of a node, GB/s (of 64, 32 pairs).
MOST_MPI = 32 * thresholds.MOST_OF_RANKS
#: Microseconds: what a latency of a small message, a load, a launch or a tiny copy can be, and what a healthy one is at most.
LATENCIES = (thresholds.LEAST_TIME["latency.chase"], 1000.0)
#: Greater than any ratio between two paths.
MOST_RATIO = thresholds.MOST_RATIO
#: What is at most 1: shares and efficiencies.
_SHARES = re.compile(r"(_fairness\.|\.(load_balance|communication_efficiency|parallel_efficiency)$)")


class UnitFault(NamedTuple):
    """What is wrong with a value."""

    level: str
    rule: str
    message: str


def of_ratio(value: float, row: str) -> UnitFault | None:
    """A ratio, a share or a penalty."""
    if value > MOST_RATIO:
        return UnitFault(ERROR, "magnitude", f"{value:g} is not a ratio; typed in per cent? that is {value / 100:g}")
    if _SHARES.search(row) and value > 1:
        return UnitFault(ERROR, "magnitude", f"{value:g} is above 1, which a share of a whole cannot be")
    return None


def of_latency(value: float) -> UnitFault | None:
    """A latency of something small, µs."""
    least, most = LATENCIES
    if least <= value <= most:
        return None
    meant = f"typed in ns? that is {value / 1000:g} µs" if value > most else f"typed in ms? that is {value * 1000:g} µs"
    return UnitFault(ERROR, "magnitude", f"{value:g} µs is not a latency of anything small; {meant}")


def of_memory(value: float) -> UnitFault | None:
    """A rate of host memory, GB/s."""
    if value > MOST_MEMORY:
        fault = f"more than any host's memory has; STREAM prints MB/s: {value / 1000:g} GB/s?"
    elif value < LEAST_MEMORY:
        fault = f"less than any host's memory has; typed in TB/s? that is {value * 1000:g} GB/s"
    else:
        return None
    return UnitFault(ERROR, "magnitude", f"{value:g} GB/s is {fault}")


def of_mpi(value: float) -> UnitFault | None:
    """A rate of messages, GB/s."""
    if value <= MOST_MPI:
        return None
    return UnitFault(
        ERROR, "magnitude", f"{value:g} GB/s is more than any MPI moves; OSU prints MB/s: {value / 1000:g} GB/s?"
    )


def of_transfer_time(value: float, row: str) -> UnitFault | None:
    """The time of a message, µs, of which the row names the size (``….1MiB``): a rate beyond MPI's betrays the unit or the size."""
    size = re.search(r"\.(\d+)([KMG]i)?B$", row)
    if size is None or value <= 0:
        return None
    rate = int(size[1]) * 1024 ** " KMG".index((size[2] or " ")[0]) / value / 1000
    if rate <= MOST_MPI:
        return None
    message = f"{size[1]} {size[2] or ''}B in {value:g} µs is {rate:,.0f} GB/s, more than any MPI moves; another unit, or another size"
    return UnitFault(ERROR, "impossible", message)


def meant(value: float, right: float, guesses: Iterable[tuple[float, str]]) -> str:
    """What else may have been meant by ``value`` where ``right`` GB/s would be the most: the first factor that makes a
    right value of it. Empty where none does."""
    for factor, guess in guesses:
        if 0.85 * right <= value * factor <= 1.01 * right:
            return f"; {guess} that is {value * factor:.4g} GB/s"
    return ""
