"""Whether a figure hangs together: its interval, its samples, and what had to be verified. Pure; the judge asks."""

from __future__ import annotations

import math

from .metric import COMPUTE_UNITS, MADE_OF_OTHERS, OF_ANOTHER_TOOL, AnyMetric, SubjectMetric

#: Samples of a cell that did not settle: of fewer nothing says how far it may be off.
_LEAST = 3
#: Documents have seven digits.
_ROUNDING = 1e-6
#: Quantities whose programs compare every byte (or every sum) that arrived: there ``verified`` is true or false. Of a latency
#: nothing needs to arrive, and OSU before 7 compares nothing.
_VERIFIED = ("copy", "stream", "tail", "saxpy.", "contention.", "mpi.pingpong.", "mpi.stream.", "kernel.")
#: The units of what is measured in cells: a figure in another one is judged by no reference.
_UNITS = {
    "copy": "GB/s",
    "stream": "GB/s",
    "latency.copy": "us",
    "latency.chase": "us",
    "latency.launch": "us",
    "tail": "us",
}
#: What the subjects of the same programs begin with: their penalties and speed-ups are made of such figures.
_VERIFIED_SUBJECTS = ("saxpy/", "within.", "across.")


def fault(metric: AnyMetric) -> str | None:
    """What is wrong with a figure, as the end of a sentence about it; None where nothing is."""
    unit = COMPUTE_UNITS[0] if _computes(metric) else _UNITS.get(metric.quantity)
    if unit is not None and metric.unit != unit:
        return f"it is in {metric.unit}, where {unit} were asked for"
    if metric.interval is not None:
        low, high = metric.interval
        if not (math.isfinite(low) and math.isfinite(high)) or low > high:
            return f"its interval, {_numbers(low, high)}, is not valid"
        if not _within(metric.value, low, high):
            return f"it lies outside its own interval, {_numbers(low, high)}"
    if metric.least is not None and metric.most is not None and not _within(metric.value, metric.least, metric.most):
        return f"it lies outside its own samples, {_numbers(metric.least, metric.most)}"
    if not metric.converged and (span(metric) is None or _too_few(metric)) and metric.quantity not in MADE_OF_OTHERS:
        return "it did not converge, and no interval shows how uncertain it is"
    if metric.verified is None and metric.basis != OF_ANOTHER_TOOL and _to_be_verified(metric):
        return "whether the data arrived intact was not checked"
    return None


def span(metric: AnyMetric) -> tuple[float, float] | None:
    """Between which values a figure lies: its interval, or the extremes of samples too few for one; None where neither is
    known."""
    if metric.interval is not None:
        return metric.interval
    return None if metric.least is None or metric.most is None else (metric.least, metric.most)


def _computes(metric: AnyMetric) -> bool:
    """Whether it is of the flow of a cell, or of a lone cell, that computes beside copies."""
    if isinstance(metric, SubjectMetric) or metric.total or metric.quantity in MADE_OF_OTHERS:
        return False
    return (metric.flow or metric.cell.flows[0]).kind == "compute"


def _too_few(metric: AnyMetric) -> bool:
    """Of a cell broken off within its first visit; runs of other programs are few and whole."""
    return not isinstance(metric, SubjectMetric) and metric.n is not None and metric.n < _LEAST


def _to_be_verified(metric: AnyMetric) -> bool:
    if metric.quantity.startswith(_VERIFIED):
        return True
    return isinstance(metric, SubjectMetric) and metric.subject.startswith(_VERIFIED_SUBJECTS)


def _within(value: float, low: float, high: float) -> bool:
    slack = _ROUNDING * max(abs(value), abs(low), abs(high))
    return low - slack <= value <= high + slack


def _numbers(low: float, high: float) -> str:
    return f"{low:.4g} to {high:.4g}"
