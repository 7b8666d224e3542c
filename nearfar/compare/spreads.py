"""How much a figure differs from run to run where nothing changed, assumed by its kind (benchmarks/studies/compare.md)."""

from __future__ import annotations

from nearfar.measurement import TIME_UNITS
from nearfar.verdict import JudgedMetric

#: Units of which less is better.
LESS_IS_BETTER = TIME_UNITS
#: Standard deviation from run to run, as a part of the figure, by kind: the greatest that is assumed.
ASSUMED = {
    "lone": 0.002, "together": 0.015, "shared": 0.02, "stream": 0.04, "loads": 0.005, "latency": 0.04, "program": 0.02,
}  # fmt: skip
#: The kinds in a reader's words.
WORDS = {
    "lone": "copies alone", "together": "sums of copies at once", "shared": "shared, staged and pageable copies",
    "stream": "host memory", "loads": "latency of loads", "latency": "latency of copies, launches, messages",
    "program": "programs and MPI",
}  # fmt: skip
#: Kinds whose interval over visits tells a quiet host from a noisy one.
_RATES = ("lone", "together", "shared", "stream")
#: The assumed spread weighs as much as that of so many further runs.
WEIGHT = 8


def kind(metric: JudgedMetric) -> str:
    """The kind of a figure, a key of ``ASSUMED``."""
    if metric.quantity == "latency.chase":
        return "loads"
    if metric.quantity.startswith("latency."):
        return "latency"
    if metric.quantity.startswith("mpi.") and metric.unit in LESS_IS_BETTER:
        return "latency"
    if metric.quantity == "stream":
        return "stream"
    cell = metric.cell
    if metric.quantity != "copy" or cell is None:
        return "program"
    if any(flow.staged or flow.pageable or flow.tasks > 1 for flow in cell.flows):
        return "shared"
    return "lone" if cell.lone else "together"


def half_width(metric: JudgedMetric) -> float | None:
    """Half of the interval over visits, as a part of the figure; None where it has none."""
    if metric.interval is None or not metric.value:
        return None
    return (metric.interval[1] - metric.interval[0]) / (2 * metric.value)


def assumed(metric: JudgedMetric) -> float:
    """The spread from run to run that is assumed of a figure: that of its kind, less where visits of a rate hardly differed."""
    own, half = kind(metric), half_width(metric)
    if half is None or own not in _RATES:
        return ASSUMED[own]
    return min(ASSUMED[own], max(ASSUMED["lone"], half))
