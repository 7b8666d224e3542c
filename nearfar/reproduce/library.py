"""What owners of real nodes captured, beside the model's predictions from what is typical: ``nearfar reproduce --nodes``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from nearfar.base import plural
from nearfar.cells import Cell, cell_class
from nearfar.model import CapturedFigure, PublishedNode
from nearfar.model.prediction import predict
from nearfar.model.typical import TypicalRate, healthy_shares, learnt, typical_rate
from nearfar.report.blocks import Entry, Shown, Table, Text, row, table
from nearfar.topology import OWN_LINKS, Node

#: A prediction so near is counted in the summary.
WITHIN = 0.15
#: More flows between GPUs are not spelt out.
_SPELT = 4
#: The class of figures that are of something else than their cells.
_SET_ASIDE = "set aside"


@dataclass(frozen=True)
class CapturedBeside:
    """Figures of one node that mean the same and are predicted alike (the pairs of a matrix), as medians, GB/s.

    ``kind`` is the class of the summary, ``figure`` what the figures are. ``typical`` with the range ``expected`` is what the other nodes
    let expect of it, ``most`` what its links carry at most; None: the model has no answer. ``share``: see ``TypicalRate``.
    """

    node: PublishedNode
    kind: str
    figure: str
    most: float | None
    typical: float | None
    expected: tuple[float, float] | None
    share: str
    figures: tuple[CapturedFigure, ...]

    @property
    def captured(self) -> float:
        """The median of the captured figures."""
        return median(figure.value for figure in self.figures)

    @property
    def span(self) -> tuple[float, float]:
        """The least and the greatest captured figure."""
        return min(figure.least for figure in self.figures), max(figure.greatest for figure in self.figures)

    @property
    def ratio(self) -> float | None:
        """Captured over typical."""
        return None if self.typical is None else self.captured / self.typical

    @property
    def counted(self) -> bool:
        """Whether the summary counts it."""
        return self.node.state != "fault" and self.kind != _SET_ASIDE

    @property
    def in_range(self) -> bool:
        """Whether the captured figure lies in the range that was expected."""
        return self.expected is not None and self.expected[0] <= self.captured <= self.expected[1]


def comparisons(nodes: Sequence[PublishedNode]) -> list[CapturedBeside]:
    """Every captured figure beside what the other nodes let expect, those of one kind together."""
    shares = healthy_shares(nodes)
    found: list[CapturedBeside] = []
    for node in nodes:
        others = learnt(of_node for name, of_node in shares.items() if name != node.name)
        groups: dict[_Key, list[CapturedFigure]] = {}
        for figure in node.figures:
            kind, name = _kind_and_name(node.node_type.node, figure)
            prediction = predict(figure.cell, node.node_type)
            most = prediction.total if figure.flow is None else prediction.flows[figure.flow]
            key = (_SET_ASIDE if figure.set_aside else kind, name, None if most is None else _three(most))
            typical = typical_rate(figure.cell, node.node_type, others, figure.until_last)
            groups.setdefault((*key, *_of_figure(typical, figure)), []).append(figure)
        found += [CapturedBeside(node, *key, tuple(values)) for key, values in groups.items()]
    return found


_Key = tuple[str, str, float | None, float | None, tuple[float, float] | None, str]


def _of_figure(
    typical: TypicalRate | None, figure: CapturedFigure
) -> tuple[float | None, tuple[float, float] | None, str]:
    if typical is None:
        return None, None, ""
    part = 1.0 if figure.flow is None else typical.flows[figure.flow] / typical.typical
    ends = _three(typical.least * part), _three(typical.greatest * part)
    return _three(typical.typical * part), ends, typical.share


def _three(rate: float) -> float:
    return float(f"{rate:.3g}")


def shown(nodes: Sequence[PublishedNode], command: str) -> Shown:
    """The summary by class, then every comparison; ``command`` makes it again."""
    every = comparisons(nodes)
    states = [f"{sum(node.state == state for node in nodes)} {state}" for state in ("healthy", "question", "fault")]
    answer = (
        f"{plural(len(nodes), 'published node')} ({', '.join(states)}), {sum(len(node.figures) for node in nodes)} captured figures; "
        "each expected from the other healthy nodes",
    )
    note = Text((_NOTE,), "muted")
    return Shown("Published nodes", answer, (_summary(every), note, _table(every)), made=f"`{command}`")


_NOTE = (
    "typical, range: what the other healthy nodes let expect of this one. at most: its links' payload. ratio: captured over typical. "
    "Not counted in the classes: nodes that were posted as a fault, and figures set aside (the node's file gives the reason)."
)


def _summary(every: Sequence[CapturedBeside]) -> Table:
    counted = [each for each in every if each.counted]
    kinds = sorted(
        {each.kind for each in counted}, key=lambda kind: (-sum(each.kind == kind for each in counted), kind)
    )
    lines = [_line(kind, [each for each in counted if each.kind == kind]) for kind in kinds]
    columns = ["class", ">n", ">nodes", ">median error", f">within {100 * WITHIN:.0f} %", ">in range", ">unknown"]
    return table(columns, [*lines, _line("all", counted)])


def _line(kind: str, of_kind: Sequence[CapturedBeside]) -> list[str]:
    errors = [abs(1 - ratio) for each in of_kind if (ratio := each.ratio) is not None]
    near = sum(error <= WITHIN for error in errors)
    middle = f"{100 * median(errors):.1f} %" if errors else "–"
    nodes = len({each.node.name for each in of_kind})
    inside = sum(each.in_range for each in of_kind)
    return [
        kind, str(len(of_kind)), str(nodes), middle, f"{near} of {len(of_kind)}", f"{inside} of {len(of_kind)}",
        str(len(of_kind) - len(errors)),
    ]  # fmt: skip


def _table(every: Sequence[CapturedBeside]) -> Table:
    lines, last = [], ""
    for each in every:
        name = f"{each.node.name}{'' if each.node.state == 'healthy' else f' ({each.node.state})'}"
        within = _range(each.span) if each.span[0] < each.span[1] else ""
        ratio = "" if each.ratio is None else f"{each.ratio:.2f}"
        place = Entry("" if name == last else name, tip=each.node.node_type.source)
        typical = "unknown" if each.typical is None else _rate(each.typical)
        most = "" if each.most is None else _rate(each.most)
        lines.append(row(place, each.figure, typical, _range(each.expected), most, _rate(each.captured), within, ratio))
        last = name
    columns = ["node", "figure", ">typical", ">range", ">at most", ">captured", ">least to greatest", ">ratio"]
    return table(columns, lines)


def _range(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{_rate(ends[0])} to {_rate(ends[1])}"


def _rate(value: float) -> str:
    return f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def as_json(nodes: Sequence[PublishedNode]) -> dict[str, Any]:
    """``nearfar-reproduce-nodes/2``."""
    rows = [
        {
            "node": each.node.name, "state": each.node.state, "class": each.kind, "figure": each.figure, "typical": each.typical,
            "range": each.expected,
            "share": each.share or None, "most": each.most,
            "captured": each.captured, "least": each.span[0], "greatest": each.span[1], "n": len(each.figures), "ratio": each.ratio,
        }
        for each in comparisons(nodes)
    ]  # fmt: skip
    return {
        "schema": "nearfar-reproduce-nodes/2",
        "nodes": {node.name: node.node_type.source for node in nodes},
        "rows": rows,
    }


def _kind_and_name(node: Node, figure: CapturedFigure) -> tuple[str, str]:
    """The class of a figure in the summary, and what it is of its node."""
    cell, of = figure.cell, figure.flow
    kinds = {flow.kind for flow in cell.flows}
    options = sorted({option for flow in cell.flows for option in flow.options})
    behind = "".join(f" /{option}" for option in options)
    one = "" if of is None or cell.lone else f", of each {of.direction if of.kind == 'host' else 'direction'}"
    way, several = _way(cell)
    path = cell_class(replace(node, peers={}) if "staged" in options else node, cell)
    if kinds == {"host"}:
        roots = len({gpu.host_bridge for gpu in node.gpus if gpu.index in cell.gpus})
        shared = f"through {plural(roots, 'host bridge')} " if roots < len(cell.gpus) else ""
        count = f"{len(cell.gpus)} GPUs at once {shared}" if len(cell.gpus) > 1 else ""
        kind = "far host memory" if path in ("off_socket", "on_socket") else "host memory"
        kind = "several GPUs and host memory" if count else f"{kind}, {'both ways' if several else 'one way'}"
        return kind, f"{count}{path} {way}{behind}{one}"
    if kinds == {"peer"}:
        if len(cell.gpus) > 2:
            return "several GPUs with each other", _of_many(cell, path, way)
        own = "xGMI pairs" if path == "XGMI" else "NVLink pairs" if path.startswith(OWN_LINKS) else "PCIe peers"
        sort = "staged" if "staged" in options else own
        return f"{sort}, {'both ways' if several else 'one way'}", f"{path} {way}{behind}{one}"
    return "host memory by cores", f"{path} {way}{behind}{one}"


def _of_many(cell: Cell, path: str, way: str) -> str:
    """The flows of several GPUs: those of one to all and all to one by their number, others as they are."""
    for word, ends in (
        ("one to all", {flow.source for flow in cell.flows}),
        ("all to one", {flow.destination for flow in cell.flows}),
    ):
        if len(ends) == 1 and len(cell.flows) > 2:
            return f"{len(cell.flows)} {path} flows, {word} {way}"
    return str(cell) if len(cell.flows) <= _SPELT else f"{cell.flows[0]}+{cell.flows[1]}+… ({len(cell.flows)} flows)"


def _way(cell: Cell) -> tuple[str, bool]:
    """The direction of a cell's flows in a word, and whether there are several."""
    if all(flow.kind == "host" for flow in cell.flows):
        ways = {flow.direction for flow in cell.flows}
        return ("both", True) if len(ways) > 1 else (ways.pop(), False)
    if all(flow.kind == "peer" for flow in cell.flows):
        if len(cell.flows) == 2 and cell.flows[0].source == cell.flows[1].destination:
            return "both", True
        return "write" if cell.flows[0].driver is None else "read", False
    return "+".join(dict.fromkeys(flow.direction for flow in cell.flows)), False
