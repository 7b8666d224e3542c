"""What a run's own single flows say of its cells of several: capacities, and each cell beside what they predict.

It explains and never judges: capacities found in a run are no expectation of that run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nearfar.base import grouped
from nearfar.cells import pretty
from nearfar.measurement import Document
from nearfar.model.calibration import Calibration, Comparison, as_json, calibrate, measured_cells, node_type_of
from nearfar.report.figures import number, percent, plural, span
from nearfar.verdict import NodeRun

from . import merged_document

#: A flow, or a total, that differs by more than this from its prediction is not explained.
FAR_OFF = 0.10
_WAY_WORDS = {"h2d": "to each GPU", "d2h": "from each GPU", "p2p": "between GPUs"}


@dataclass(frozen=True)
class CellRow:
    """A measured cell beside its prediction, GB/s; ``off`` is predicted ÷ measured − 1 (None: no prediction), ``at_best``
    where it depends on a capacity never saturated."""

    cell: str
    measured: float
    predicted: float | None
    off: float | None
    limited_by: str
    unexplained: tuple[str, ...]
    at_best: bool


@dataclass(frozen=True)
class Capacities:
    """What a node's single flows say of its cells of several. ``known``: GB/s of each capacity, ``≥ 55.5`` where it was never full;
    ``note`` says instead why there is none of this."""

    note: str | None = None
    known: Mapping[str, str] = field(default_factory=dict)
    predictions: tuple[CellRow, ...] = ()
    line: str = ""
    left_over: str = ""
    found: Mapping[str, object] | None = None


def capacities(node: NodeRun, document: Callable[[], Document | None]) -> Capacities | None:
    """The capacities of a measured node with cells of several GPUs, from the document of all its checks; None for any
    other."""
    if node.modelled:
        return None
    for check in node.checks:
        busy = check.document.get("aggressor")
        if busy and check.name in merged_document.explaining():
            return Capacities(note=f"{check.name} was measured while {', '.join(map(str, busy))} ran in the background")
    found = lambda: _found(node.name, document())  # noqa: E731
    return merged_document.or_note(found, lambda words: Capacities(note=words), "the calibration")


def _found(name: str, document: Document | None) -> Capacities | None:
    if document is None:
        return None
    measured = measured_cells(document, alone=True)
    host = ([gpu for flow in one.cell.flows if flow.kind == "host" for gpu in flow.gpus] for one in measured)
    if not any(len(set(gpus)) > 1 for gpus in host):
        return None
    calibration = calibrate(node_type_of(document.node, name), measured)
    several = [one for one in calibration.comparisons if not one.measured.cell.lone]
    # Tasks that share a GPU are predicted as one flow: they come last.
    several.sort(key=lambda one: max(flow.tasks for flow in one.measured.cell.flows) > 1)
    predictions = tuple(_row(one, calibration) for one in several if not one.calibrates)
    known = {
        name: number(each.value) if each.value is not None and each.high is not None else f"≥ {number(each.low)}"
        for name, each in calibration.estimates.items()
    }
    found = as_json(calibration, document.kind, document.source)
    return Capacities(None, known, predictions, _line(predictions), _left_over(predictions), found)


def _row(one: Comparison, calibration: Calibration) -> CellRow:
    limits = ", ".join(one.limited_by)
    if one.hangs_on:
        limits += f"{'; ' if limits else ''}upper bound: {', '.join(one.hangs_on)} never saturated"
    words = [] if one.predicted is None else _far_off(one)
    if one.measured.cell in calibration.unexplained:
        words.append("some flow is held back by nothing known on its way")
    if one.predicted is None:
        words.append("nothing known bounds some flow")
    total = None if one.predicted is None else sum(one.predicted)
    cell, measured = pretty(one.measured.cell), one.measured.total
    return CellRow(cell, measured, total, one.deviation, limits, tuple(words), bool(one.hangs_on))


def _far_off(one: Comparison) -> list[str]:
    """A sentence for each direction of which some flow is far from its prediction, and one for the total."""
    assert one.predicted is not None, "asked of predictions alone"
    directions = (flow.direction for flow in one.measured.cell.flows)
    found = []
    for way, rates in grouped(zip(directions, zip(one.measured.rates, one.predicted))).items():
        if any(abs(predicted / rate - 1) > FAR_OFF for rate, predicted in rates):
            has, should = (span(values) for values in zip(*rates))
            found.append(f"{_WAY_WORDS.get(way, way)} {has} GB/s, where {should} is predicted")
    if abs(one.deviation or 0.0) > FAR_OFF:
        found.append("the total")
    return found


def _line(rows: Sequence[CellRow]) -> str:
    offs = [row.off for row in rows if row.off is not None and not row.at_best]
    best = sum(row.off is not None and row.at_best for row in rows)
    if not offs and not best:
        return "No other cell of several flows was measured."
    if not offs:
        return f"{plural(best, 'total')} predicted as upper bounds only: some capacity was never saturated."
    within = f"{sum(abs(off) <= FAR_OFF for off in offs)} of {len(offs)} totals are predicted within 10 %"
    more = f" {best} more as upper bounds only: some capacity was never saturated." if best else ""
    return f"{within}, the worst {percent(max(offs, key=abs))} off.{more}"


def _left_over(rows: Sequence[CellRow]) -> str:
    odd = [row for row in rows if row.unexplained]
    if not odd:
        return "Nothing is off by more than 10 %: single flows and what they share explain every cell." if rows else ""
    return (
        f"Not explained: in {len(odd)} of {plural(len(rows), 'cell')} some flow is off by more than 10 %. The prediction "
        "shares full capacities evenly, except between reads and writes of one GPU; this run measured nothing that explains other "
        "differences."
    )
