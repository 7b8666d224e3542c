"""What a run of this site measured of a paper's figures: the same cells on a node of the paper's kind, else paths of the same sort."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from nearfar.base import plural
from nearfar.cells import Cell, Flow, flow_class, pretty
from nearfar.measurement import AnyMetric, Document, SubjectMetric
from nearfar.model.prediction import NodeType, implied_capacities
from nearfar.question import questions
from nearfar.topology import Node
from nearfar.verdict import CheckRecord, JudgedMetric, NodeRun

from .documents import figures_of, named_results
from .paper_files import PaperRow
from .published_figures import GREATEST, LEAST, LOSS, MEAN, PEAK, SHARE, SPREAD, Asked, MetricPattern, PublishedFigure

#: Cells by what they do, whatever their GPUs and NUMA nodes are numbered.
_Sort = tuple[Any, ...]
#: What a GPU's only NUMA node is near to.
_SOLE = {"sole": "near"}
#: What a word before a pattern of names makes of the figures that it matches.
_CHOSEN: dict[str, Callable[[Sequence[float]], float]] = {
    LEAST: min, GREATEST: max, LOSS: lambda ratios: 1 - 1 / median(ratios),
}  # fmt: skip
_NO_PEAK = "what this node's memory carries at most is not known (its DIMMs)"
_NO_PEAK_OF_LINKS = "no tool reads the peak of a link between packages; the node type's file has it"
#: How many of a figure's unit a GB/s is, where a source has another.
_OF_GBS = {"MiB/s": 1e9 / 2**20}
_NOTHING_FAR = "this node has one NUMA node: nothing is off-socket"
#: Names of paths that a figure lists before it counts them.
_NAMED = 2


@dataclass(frozen=True)
class SiteFigure:
    """This site's answer to a published figure, in its unit: ``value`` of ``what``, or ``because`` there is none."""

    value: float | None = None
    what: str = ""
    because: str = ""


class ThisSite:
    """The measured node of a run, of documents that programs printed, or of both, asked for figures of rows."""

    def __init__(self, run: NodeRun | None, documents: Sequence[Document] = ()) -> None:
        self.run = run
        self.documents = tuple(documents)
        nodes = {document.node.hostname: document.node for document in documents}
        self.node = run.node if run is not None else next((node for node in nodes.values() if node.numa_nodes), None)
        #: The node's name.
        self.name = run.name if run is not None else ", ".join(nodes)
        self._records = {record.name: record for record in run.checks} if run is not None else {}

    def is_of_kind(self, node_type: NodeType | None) -> bool:
        """Whether it has the GPUs of a node type, by model and number; without GPUs in either, as many NUMA nodes and packages."""
        if self.node is None or node_type is None:
            return False
        own, theirs = (sorted(str(gpu.name) for gpu in node.gpus) for node in (self.node, node_type.node))
        if own or theirs:
            return own == theirs
        return _parts(self.node) == _parts(node_type.node) and self.node.product == node_type.node.product

    def records(self, row: PaperRow) -> list[CheckRecord]:
        """What the run has of the checks that measure a row."""
        return [self._records[name] for name in row.checks if name in self._records]

    def _figures(self, row: PaperRow) -> list[JudgedMetric | AnyMetric]:
        """The figures of the checks that measure a row, then those of the documents."""
        judged = [metric for record in self.records(row) for metric in _metrics(record)]
        return [*judged, *(metric for document in self.documents for metric in figures_of(document))]

    def _results(self, row: PaperRow) -> Iterator[tuple[str, float]]:
        """The results of the same, each by quantity, subject and bytes."""
        for record in self.records(row):
            yield from named_results(record.document)
        for document in self.documents:
            yield from named_results(document.raw)

    def answer(
        self, figure: PublishedFigure, row: PaperRow, node_type: NodeType | None, rows: Mapping[int, PaperRow]
    ) -> SiteFigure:
        """This site's counterpart of a figure; ``rows``: those of its paper, by number."""
        if figure.asked.metric is not None and figure.asked.metric.which == MEAN:
            other = rows[int(figure.asked.metric.pattern)]
            parts = [self.answer(each, other, node_type, rows) for each in other.figures if each.asked]
            lacking = next((part for part in parts if part.value is None), None)
            mean = fmean(part.value or 0.0 for part in parts)
            return lacking or SiteFigure(mean, f"mean of the {plural(len(parts), 'figure')} of row {other.id}")
        if not figure.asked:
            return SiteFigure(because="")
        alike = self.is_of_kind(node_type)
        theirs = None if alike or node_type is None else node_type.node
        asked = self._asked(figure.asked, row, theirs)
        if asked.value is None or not figure.against:
            percent = figure.unit == "percent" and figure.asked.metric is not None
            factor = 100 if percent else _OF_GBS.get(figure.unit, 1)
            return asked if asked.value is None else SiteFigure(asked.value * factor, asked.what)
        against = self._asked(figure.against, row, theirs)
        if not against.value:
            return SiteFigure(because=against.because or f"{against.what} is nothing")
        below = against.value - asked.value
        what = f"{asked.what} below {against.what}"
        return SiteFigure(100 * below / against.value if figure.unit == "percent" else below, what)

    def _asked(self, asked: Asked, row: PaperRow, theirs: Node | None) -> SiteFigure:
        if asked.metric is not None:
            return self._by_name(asked.metric, row)
        parts = [self._of_cell(cell, row, theirs) for cell in asked.cells]
        lacking = next((part for part in parts if part.value is None), None)
        if lacking is not None:
            return lacking
        names = [part.what for part in parts]
        what = " and ".join(names) if len(names) <= _NAMED else f"the sum of {len(names)} cells"
        return SiteFigure(sum(part.value or 0.0 for part in parts), what)

    def _by_name(self, wanted: MetricPattern, row: PaperRow) -> SiteFigure:
        if wanted.which == PEAK:
            implied = implied_capacities(self.node).get(wanted.pattern) if self.node is not None else None
            best = None if implied is None else implied.best
            return SiteFigure(best, f"nominal, {wanted.pattern}", "" if best else _NO_PEAK_OF_LINKS)
        matching = [m for m in self._figures(row) if fnmatch.fnmatchcase(m.name, wanted.pattern)]
        named = [(m.name, m.value) for m in matching if m.value is not None]
        if "@" in wanted.pattern:
            named = [(name, value) for name, value in self._results(row) if fnmatch.fnmatchcase(name, wanted.pattern)]
        values = [value for _, value in named]
        if wanted.which == SHARE and values:
            values = [
                metric.value / metric.ceiling for metric in matching if metric.value is not None and metric.ceiling
            ]
            if not values:
                return SiteFigure(because=_NO_PEAK)
        if wanted.which == SPREAD:
            values = [1 - m.least / m.most for m in matching if m.least is not None and m.most]
        if not values:
            return SiteFigure(because=self._one_numa_node(wanted.pattern) or self._why(row, None))
        chosen = _CHOSEN.get(wanted.which, median)(values)
        of = named[0][0] if len(values) == 1 else f"{wanted.which or 'median'} of {plural(len(values), 'figure')}"
        return SiteFigure(chosen, of)

    def _one_numa_node(self, pattern: str) -> str:
        """Why there is neither a near nor a far figure; empty where there may be, or the pattern asks for neither."""
        of_classes = pattern.startswith(("near.", "on_socket", "off_socket"))
        known = self.node is not None and self.node.gpus and len(self.node.host_numa_nodes) == 1
        return _NOTHING_FAR if of_classes and known else ""

    def _of_cell(self, cell: Cell, row: PaperRow, theirs: Node | None) -> SiteFigure:
        """Of the cell itself, or where the node is another than the paper's of all cells of its sort: their median."""
        whole = [
            (own, metric.value)
            for metric in self._figures(row)
            if not isinstance(metric, SubjectMetric)
            and not metric.derived
            and metric.flow is None
            and metric.unit == "GB/s"
            if metric.value is not None and (own := metric.cell) is not None
        ]
        if theirs is None:
            matching = [(own, value) for own, value in whole if own == cell]
        elif self.node is None:
            return SiteFigure(because="the run does not say what its node is")
        else:
            packages = len(self.node.packages)
            wanted = _sort(cell, theirs, packages)
            matching = [(own, value) for own, value in whole if _sort(own, self.node, packages) == wanted]
        if not matching:
            return SiteFigure(because=self._why(row, cell, theirs))
        cells = list(dict.fromkeys(own for own, _ in matching))
        what = (
            ", ".join(map(pretty, cells))
            if len(cells) <= _NAMED
            else f"median of {len(cells)} cells like {pretty(cells[0])}"
        )
        return SiteFigure(median(value for _, value in matching), what)

    def _why(self, row: PaperRow, cell: Cell | None, theirs: Node | None = None) -> str:
        """Why the run has no counterpart of a cell, or of figures by name."""
        node, records = self.node, self.records(row)
        about_gpus = _of_gpus(row) if cell is None else any(flow.gpus for flow in cell.flows)
        if node is not None and about_gpus and not node.gpus:
            return "this node has no GPU"
        if node is not None and cell is not None and (lack := _lack(cell, node, theirs)):
            return lack
        if not row.checks:
            return f"only '{row.command}' asks it"
        not_run = [name for name in row.checks if name not in self._records]
        if not_run:
            return f"this run did not ask {not_run[0]}"
        reason = next((text for record in records for text in _reasons(record, cell)), None)
        if reason is not None:
            return reason
        unfinished = next((record.problem for record in records if record.problem), None)
        if unfinished is not None:
            return unfinished
        return f"this run of {' and '.join(record.name for record in records)} has no {'such figure' if cell is None else 'such cell'}"


def _of_gpus(row: PaperRow) -> bool:
    """Whether what measures a row asks for GPUs."""
    asking = {question.name for question in questions() if any("+gpu" in spec.split() for spec in question.systems)}
    return not asking.isdisjoint(row.checks)


def _metrics(record: CheckRecord) -> Sequence[JudgedMetric]:
    return () if record.verdict is None else record.verdict.metrics


def _reasons(record: CheckRecord, cell: Cell | None) -> Iterator[str]:
    """What the check says of the cell that it did not measure; of figures by name, what it says at all where it has none."""
    if record.verdict is None:
        return
    if cell is None:
        if not record.verdict.metrics:
            yield from record.verdict.reasons
            yield from (finding.reason for finding in record.verdict.findings)
        return
    for entry in (*record.verdict.failed, *record.verdict.unmeasured):
        if entry.cell == str(cell):
            yield entry.reason


def _lack(cell: Cell, node: Node, theirs: Node | None) -> str:
    """Which part of the cell the node lacks; empty where it has them all."""
    known = node if theirs is None else theirs
    wanted = set(cell.gpus)
    have = plural(len(node.gpus), "GPU")
    if len(wanted) > len(node.gpus) or (theirs is None and any(node.gpu(index) is None for index in wanted)):
        return f"this node has {have}"
    classes = {_class(known, flow) for flow in cell.flows}
    if "off_socket" in classes or "across" in classes:
        if len(node.host_numa_nodes) < 2:
            return _NOTHING_FAR
        if len(node.packages) < 2:
            return "this node has one package: nothing is off-socket"
    if any(flow.kind == "peer" for flow in cell.flows) and len(node.gpus) < 2:
        return "this node has one GPU: there is no pair"
    memories = {flow.numa_node for flow in cell.flows if flow.kind == "stream"}
    if len(memories) > len(node.host_numa_nodes):
        return f"this node has {plural(len(node.host_numa_nodes), 'NUMA node')}"
    return ""


def _class(node: Node, flow: Flow) -> str:
    """The sort of a flow's path: the class to host memory; between GPUs whether they are of one package."""
    if flow.kind == "peer":
        source, destination = (node.gpu(index) for index in flow.gpus)
        packages = {gpu.package for gpu in (source, destination) if gpu is not None}
        return "beside" if len(packages) == 1 else "across"
    path_class = flow_class(node, flow)
    return _SOLE.get(path_class, path_class)


def _sort(cell: Cell, node: Node, most_packages: int) -> _Sort:
    """What a cell does: its flows by kind, direction, sort of path and options; how many GPUs, and of how many packages, as far as
    there are so many."""
    flows = []
    for flow in cell.flows:
        if flow.driver is None:
            driver = ""
        elif flow.kind == "peer":
            driver = "destination"
        else:
            driver = flow_class(node, Flow(flow.driver, flow.destination)) if flow.direction == "h2d" else "other"
        flows.append((flow.kind, flow.direction, _class(node, flow), flow.options, driver))
    packages = {device.package for gpu in cell.gpus if (device := node.gpu(gpu)) is not None}
    memories = {flow.numa_node for flow in cell.flows if flow.kind == "stream"}
    return (*sorted(flows), len(cell.gpus), min(len(packages), max(1, most_packages)), len(memories))


def _parts(node: Node) -> tuple[int, int]:
    return len(node.packages), len(node.host_numa_nodes)
