"""What a run's own single flows say of its cells of several: capacities, and each cell beside what they predict.

It explains and never judges: capacities found in a run are no expectation of that run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.base import NearfarError
from nearfar.cells import Cell, Flow, parse, pretty
from nearfar.measurement import Document
from nearfar.model.calibration import (
    Calibration,
    Comparison,
    Estimate,
    as_json,
    calibrate,
    measured_cells,
    node_type_of,
)
from nearfar.model.prediction import Capacity
from nearfar.report.figures import number, percent, plural, span
from nearfar.verdict import NodeRun

from . import merged_document

#: A flow, or a total, that differs by more than this from its prediction is not explained.
FAR_OFF = 0.10
_WAYS = {"h2d": "H2D", "d2h": "D2H", "both": "both at once", "out": "to other GPUs", "in": "from other GPUs"}
_WAY_WORDS = {"h2d": "to each GPU", "d2h": "from each GPU", "p2p": "between GPUs"}


@dataclass(frozen=True)
class KnownCapacity:
    """What is known of a capacity: ``value`` in GB/s (``55.5``, ``≥ 55.5``), and how well."""

    name: str
    value: str
    detail: str


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
    calibrates: bool
    at_best: bool


@dataclass(frozen=True)
class Capacities:
    """The capacities of a node: ``links`` by GPU in the order of ``ways``; ``shared`` are all others but those of pairs
    of GPUs, which ``pairs`` has in a line. ``note`` says instead why there is none of this."""

    note: str | None = None
    ways: tuple[str, ...] = ()
    links: tuple[tuple[str, tuple[KnownCapacity | None, ...]], ...] = ()
    shared: tuple[KnownCapacity, ...] = ()
    pairs: str = ""
    weights: tuple[str, ...] = ()
    predictions: tuple[CellRow, ...] = ()
    inputs: tuple[CellRow, ...] = ()
    lone: str = ""
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
    return merged_document.or_note(
        lambda: _found(node.name, document()), lambda words: Capacities(note=words), "the calibration"
    )


def _found(name: str, document: Document | None) -> Capacities | None:
    if document is None:
        return None
    measured = measured_cells(document, alone=True)
    if not any(
        len({gpu for flow in one.cell.flows if flow.kind == "host" for gpu in flow.gpus}) > 1 for one in measured
    ):
        return None
    calibration = calibrate(node_type_of(document.node, name), measured)
    several = [one for one in calibration.comparisons if not one.measured.cell.lone]
    # Tasks that share a GPU are predicted as one flow: they come last.
    several.sort(key=lambda one: max(flow.tasks for flow in one.measured.cell.flows) > 1)
    rows = [_row(one, calibration) for one in several]
    alone = [one for one in calibration.comparisons if one.measured.cell.lone]
    predictions = tuple(row for row in rows if not row.calibrates)
    return replace(
        _tables(calibration),
        predictions=predictions,
        inputs=tuple(row for row in rows if row.calibrates),
        lone=f"{plural(len(alone), 'single flow')}: residuals up to {100 * max(abs(one.deviation or 0) for one in alone):.2f} %",
        line=_line(predictions),
        left_over=_left_over(predictions),
        found=as_json(calibration, document.kind, document.source),
    )


def _tables(calibration: Calibration) -> Capacities:
    known = {name: _known(estimate) for name, estimate in calibration.estimates.items()}
    gpus = [f"g{gpu.index}" for gpu in calibration.node_type.node.gpus]
    ways = [way for way in _WAYS if any(f"{gpu}.{way}" in known for gpu in gpus)]
    links = tuple((gpu, tuple(known.get(f"{gpu}.{way}") for way in ways)) for gpu in gpus)
    of_links = {f"{gpu}.{way}" for gpu in gpus for way in _WAYS}
    of_pairs = {name for name in known if _is_pair(name)}
    shared = tuple(known[name] for name in known if name not in of_links | of_pairs)
    weights = tuple(words for c in calibration.node_type.capacities.values() for words in _weights(c))
    pairs = [calibration.estimates[name] for name in of_pairs]
    titles = tuple(_WAYS[way] for way in ways)
    return Capacities(ways=titles, links=links, shared=shared, pairs=_pairs(pairs), weights=weights)


def _weights(capacity: Capacity) -> Iterator[str]:
    """How a memory takes reads and writes of GPUs, where that is not as it takes STREAM's bytes."""
    name, read, write = capacity.name, capacity.read_weight, capacity.write_weight
    if capacity.value is not None and (read, write) != (1.0, 1.0):
        yield f"On {name} a byte read weighs {read:.2f} and a byte written {write:.2f}, beside one of STREAM's."
    if capacity.value is not None and capacity.read_share != 1.0:
        share = f"{capacity.read_share:.2f} of what other flows have"
        yield f"Once {name} is full, a read beside a write of its own GPU has {share}."
    if capacity.value is not None and capacity.mixed_weight != 1.0:
        yield f"While GPUs both read and write {name}, a byte weighs {capacity.mixed_weight:.2f} of that."


def _known(estimate: Estimate) -> KnownCapacity:
    if estimate.value is not None and estimate.high is not None:
        return KnownCapacity(
            estimate.name, number(estimate.value), f"{number(estimate.low)} to {number(estimate.high)}"
        )
    if not estimate.members:
        return KnownCapacity(estimate.name, f"≥ {number(estimate.low)}", "never saturated")
    others = ", ".join(member for member in estimate.members if member != estimate.name)
    return KnownCapacity(estimate.name, f"≥ {number(estimate.low)}", f"not told apart from {others}")


def _is_pair(name: str) -> bool:
    """Whether a capacity is what flows between GPUs carry alone."""
    cell = _cell(name)
    return cell is not None and all(flow.kind == "peer" for flow in cell.flows)


def _cell(name: str) -> Cell | None:
    try:
        return parse(name)
    except NearfarError:
        return None


def _pairs(estimates: Sequence[Estimate]) -> str:
    """What pairs of GPUs carry, by kind, in a line."""
    kinds: dict[str, list[float]] = {}
    for estimate in estimates:
        cell = parse(estimate.name)
        flow = cell.flows[0]
        kind = "both directions" if not cell.lone else "reads" if flow.driver else "writes"
        kind = "staged" if flow.staged else f"{kind} by kernels" if flow.sm else kind
        kinds.setdefault(kind, []).append(estimate.value or estimate.low)
    return "; ".join(f"{kind} {span(values)}" for kind, values in sorted(kinds.items(), reverse=True))


def _row(one: Comparison, calibration: Calibration) -> CellRow:
    limits = ", ".join(one.limited_by)
    if one.hangs_on:
        limits += f"{'; ' if limits else ''}at best: {', '.join(one.hangs_on)} never saturated"
    words = [] if one.predicted is None or one.calibrates else _far_off(one)
    if one.measured.cell in calibration.unexplained:
        words.append("some flow is held back by nothing known on its way")
    if one.predicted is None:
        words.append("nothing known bounds some flow")
    total = None if one.predicted is None else sum(one.predicted)
    return CellRow(
        pretty(one.measured.cell), one.measured.total, total, one.deviation, limits, tuple(words), one.calibrates, bool(one.hangs_on)
    )  # fmt: skip


def _far_off(one: Comparison) -> list[str]:
    """A sentence for each direction of which some flow is far from its prediction, and one for the total."""
    assert one.predicted is not None, "asked of predictions alone"
    ways: dict[str, list[tuple[Flow, float, float]]] = {}
    for flow, rate, predicted in zip(one.measured.cell.flows, one.measured.rates, one.predicted):
        ways.setdefault(flow.direction, []).append((flow, rate, predicted))
    found = []
    for way, flows in ways.items():
        if any(abs(predicted / rate - 1) > FAR_OFF for _, rate, predicted in flows):
            words = _WAY_WORDS.get(way, way)
            found.append(
                f"{words} {span(r for _, r, _ in flows)} GB/s, where {span(p for _, _, p in flows)} is predicted"
            )
    if abs(one.deviation or 0.0) > FAR_OFF:
        found.append("the total")
    return found


def _line(rows: Sequence[CellRow]) -> str:
    offs = [row.off for row in rows if row.off is not None and not row.at_best]
    best = sum(row.off is not None and row.at_best for row in rows)
    if not offs:
        if best:
            return f"{plural(best, 'total')} predicted only at best: some capacity was never saturated."
        return "No other cell of several flows was measured."
    within = sum(abs(off) <= FAR_OFF for off in offs)
    more = f" {best} more only at best: some capacity was never saturated." if best else ""
    return (
        f"{within} of {len(offs)} totals are predicted within 10 %, the worst {percent(max(offs, key=abs))} off.{more}"
    )


def _left_over(rows: Sequence[CellRow]) -> str:
    odd = [row for row in rows if row.unexplained]
    if not odd:
        return "Nothing is off by more than 10 %: single flows and what they share explain every cell." if rows else ""
    return (
        f"Not explained: in {len(odd)} of {plural(len(rows), 'cell')} some flow is off by more than 10 %. The prediction "
        "divides what is full evenly, but for reads beside writes of their own GPU; what else favours some flows, or the total, is "
        "nothing that this run measured."
    )
