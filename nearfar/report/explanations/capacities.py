"""What a run's own single flows say of its cells of several: capacities, and each cell beside what they predict.

It explains and never judges: capacities found in a run are no expectation of that run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nearfar.base import listed
from nearfar.measurement import Document
from nearfar.model.calibration import Comparison, as_json, calibrate, measured_cells, node_type_of
from nearfar.report.blocks import Block, Text
from nearfar.report.figures import flow_words, number, percent, plural
from nearfar.verdict import NodeRun

from . import merged_document

#: A flow, or a total, that differs by more than this from its prediction is not explained.
FAR_OFF = 0.10
#: So many cells are named.
_NAMED = 3
_JUDGES_NOTHING = (
    "capacities found in this run's single flows, STREAM and one saturating cell for each shared capacity; every other cell of several "
    "flows is compared with what they predict. This explains, but does not judge: capacities calibrated from a run never judge that run"
)
_NOT_EXPLAINED = (
    "in {odd} of {cells} some flow, or the total, is off by more than 10 %; nothing in this run explains it: {named}"
)
_BY_HAND = "capacities and residuals: `report.json`; of any documents of one node: `nearfar calibrate DOCUMENT…`"


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
    compared = [one for one in several if not one.calibrates]
    odd = [one for one in compared if one.measured.cell in calibration.unexplained or _is_far_off(one)]
    known = {
        name: number(each.value) if each.value is not None and each.high is not None else f"≥ {number(each.low)}"
        for name, each in calibration.estimates.items()
    }
    found = as_json(calibration, document.kind, document.source)
    return Capacities(None, known, tuple(_blocks(compared, odd)), found)


def _blocks(compared: Sequence[Comparison], odd: Sequence[Comparison]) -> Iterator[Block]:
    """How well single flows explain cells of several, and the cells that they do not."""
    yield Text((_JUDGES_NOTHING,))
    yield Text((_line(compared),), "answer")
    if compared:
        explained = "nothing is off by more than 10 %: single flows and what they share explain every cell"
        named = listed([f"{flow_words(one.measured.cell.flows)} {_off(one)}".rstrip() for one in odd], _NAMED)
        many = plural(len(compared), "cell")
        yield Text((_NOT_EXPLAINED.format(odd=len(odd), cells=many, named=named) if odd else explained,))
    yield Text((_BY_HAND,), "small muted")


def _off(one: Comparison) -> str:
    """``(predicted 110.4, +7.3 %)``."""
    if one.predicted is None or one.deviation is None:
        return ""
    return f"(predicted {number(sum(one.predicted))}, {percent(one.deviation)})"


def _is_far_off(one: Comparison) -> bool:
    """Whether some flow, or the total, is not known, or far from its prediction."""
    flows = zip(one.measured.rates, one.predicted or ())
    return (
        one.predicted is None or max(map(abs, [one.deviation or 0.0, *(p / rate - 1 for rate, p in flows)])) > FAR_OFF
    )


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
