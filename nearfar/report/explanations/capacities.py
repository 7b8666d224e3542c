"""What a run's own single flows say of its cells of several: capacities, and each cell beside what they predict.

It explains and never judges: capacities found in a run are no expectation of that run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nearfar.base import grouped
from nearfar.cells import pretty
from nearfar.measurement import Document
from nearfar.model.calibration import Calibration, Comparison, as_json, calibrate, measured_cells, node_type_of
from nearfar.report.blocks import Block, Group, Text, table
from nearfar.report.figures import number, percent, plural, span
from nearfar.verdict import NodeRun

from . import merged_document

#: A flow, or a total, that differs by more than this from its prediction is not explained.
FAR_OFF = 0.10
#: So many rows are open at first.
OPEN_ROWS = 8
#: So many flows, and capacities, are named in a row.
_NAMED = 3
_WAY_WORDS = {"h2d": "to each GPU", "d2h": "from each GPU", "p2p": "between GPUs"}
_JUDGES_NOTHING = (
    "capacities found in this run's single flows, STREAM and one saturating cell for each shared capacity; every other cell of several "
    "flows is compared with what they predict. This explains, but does not judge: capacities calibrated from a run never judge that run"
)
_NOT_EXPLAINED = (
    "Not explained: in {odd} of {cells} some flow is off by more than 10 %. The prediction shares full capacities evenly, except between "
    "reads and writes of one GPU; this run measured nothing that explains other differences."
)
_BY_HAND = "capacities and residuals: `report.json`; of any documents of one node: `nearfar calibrate DOCUMENT…`"

#: Cells beside their predictions, with what of each is not explained.
_Compared = Sequence[tuple[Comparison, Sequence[str]]]


@dataclass(frozen=True)
class Capacities:
    """What a node's single flows say of its cells of several. ``known``: GB/s of each capacity, ``≥ 55.5`` where it was never full;
    ``blocks``: what a page shows of it; ``note`` says instead why there is none of this."""

    note: str | None = None
    known: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    found: Mapping[str, object] | None = None


def capacities(node: NodeRun, document: Callable[[], Document | None]) -> Capacities | None:
    """The capacities of a measured node with cells of several GPUs, from the document of all its checks; None for any
    other."""
    if node.modelled:
        return None
    for check in node.checks:
        busy = check.document.get("aggressor")
        if busy and check.name in merged_document.explaining():
            return _noted(f"{check.name} was measured while {', '.join(map(str, busy))} ran in the background")
    found = lambda: _found(node.name, document())  # noqa: E731
    return merged_document.or_note(found, _noted, "the calibration")


def _noted(why: str) -> Capacities:
    return Capacities(why, blocks=(Text((f"not calibrated: {why}",)),))


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
    compared = [(one, _unexplained(one, calibration)) for one in several if not one.calibrates]
    known = {
        name: number(each.value) if each.value is not None and each.high is not None else f"≥ {number(each.low)}"
        for name, each in calibration.estimates.items()
    }
    found = as_json(calibration, document.kind, document.source)
    return Capacities(None, known, tuple(_blocks(compared)), found)


def _blocks(compared: _Compared) -> Iterator[Block]:
    """The cells that are not explained; where all are, every one."""
    yield Text((_JUDGES_NOTHING,))
    yield Text((_line([one for one, _ in compared]),), "answer")
    odd = [(one, words) for one, words in compared if words]
    if odd:
        yield Text((_NOT_EXPLAINED.format(odd=len(odd), cells=plural(len(compared), "cell")),))
    elif compared:
        yield Text(("Nothing is off by more than 10 %: single flows and what they share explain every cell.",))
    if rows := [_row(one, words) for one, words in odd or compared]:
        columns = ("cell", ">measured", ">predicted", ">prediction off", "what limits it", "not explained, GB/s a flow")
        title = "Cells that are not explained" if odd else "Cells of several flows, predicted"
        shown = table(columns, rows, kind="explaining")
        yield Group(title, (shown,), plural(len(rows), "cell"), len(rows) > OPEN_ROWS)
    yield Text((_BY_HAND,), "small muted")


def _row(one: Comparison, unexplained: Sequence[str]) -> tuple[str, ...]:
    limits = [_some(one.limited_by, ", ")] if one.limited_by else []
    limits += [f"upper bound: {_some(one.hangs_on, ', ')} never saturated"] if one.hangs_on else []
    predicted = number(None if one.predicted is None else sum(one.predicted))
    off = "" if one.deviation is None else percent(one.deviation)
    cell = _some(pretty(one.measured.cell).split(" + "), " + ")
    return cell, number(one.measured.total), predicted, off, "; ".join(limits), "; ".join(unexplained)


def _some(names: Sequence[str], between: str) -> str:
    """The first of many names."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED + 1 else ""
    return between.join(names[:_NAMED] if more else names) + more


def _unexplained(one: Comparison, calibration: Calibration) -> list[str]:
    words = ["nothing known bounds some flow"] if one.predicted is None else _far_off(one)
    held = (
        ["some flow is held back by nothing known on its way"] if one.measured.cell in calibration.unexplained else []
    )
    return [*held, *words] if one.predicted is None else [*words, *held]


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


def _line(compared: Sequence[Comparison]) -> str:
    offs = [one.deviation for one in compared if one.deviation is not None and not one.hangs_on]
    best = sum(one.deviation is not None and bool(one.hangs_on) for one in compared)
    if not offs and not best:
        return "No other cell of several flows was measured."
    if not offs:
        return f"{plural(best, 'total')} predicted as upper bounds only: some capacity was never saturated."
    within = f"{sum(abs(off) <= FAR_OFF for off in offs)} of {len(offs)} totals are predicted within 10 %"
    more = f" {best} more as upper bounds only: some capacity was never saturated." if best else ""
    return f"{within}, the worst {percent(max(offs, key=abs))} off.{more}"
