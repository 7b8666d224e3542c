"""Which degraded parts explain the slow figures of a node: shown where verdicts found some, and never a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nearfar.base import NearfarError, listed, site_directories
from nearfar.cells import Cell, divided_by_the_fabric, pretty
from nearfar.measurement import CELL_QUANTITIES, Document
from nearfar.model import diagnosis as model
from nearfar.model.calibration import MeasuredCell, measured_cells, node_type_of
from nearfar.model.diagnosis import Diagnosis, Healthy, diagnose, from_reference, sentence
from nearfar.model.prediction import NodeType, load_node_type
from nearfar.report.blocks import Block, Text
from nearfar.report.figures import plural
from nearfar.verdict import JudgedMetric, NodeRun

from . import merged_document

#: So many slow figures are named in a line.
_NAMED = 3


@dataclass(frozen=True)
class Faults:
    """``sentence`` is the answer in a line, ``blocks`` what a page shows that it rests on; ``found`` the diagnosis as JSON objects, None
    where there is none."""

    sentence: str
    blocks: tuple[Block, ...] = ()
    found: Mapping[str, object] | None = None


def faults(node: NodeRun, document: Callable[[], Document | None], made_up: bool = False) -> Faults | None:
    """What explains the node's slow figures, from the document of all its checks; None where no rate of a cell is slow. ``made_up``: the
    node was given a fault, which is looked for where no reference judges its figures, too."""
    judged = _judged_slow(node)
    if not judged and not made_up:
        return None
    note = lambda words: Faults(f"what is slow was not localised: {words}")  # noqa: E731
    return merged_document.or_note(lambda: _found(node, document(), judged), note, "the localisation")


def _judged_slow(node: NodeRun) -> list[JudgedMetric]:
    """The rates of cells that were judged DEGRADED or FAIL. Those that were intermittent were as they should be most of the times."""
    bad = (m for m in _metrics(node) if m.verdict in ("DEGRADED", "FAIL") and m.quantity in CELL_QUANTITIES[:2])
    return [m for m in bad if m.unit == "GB/s" and m.cell is not None and not m.intermittent]


def _found(node: NodeRun, document: Document | None, judged: list[JudgedMetric]) -> Faults | None:
    slow = {m.cell for m in judged if m.cell is not None}
    if document is None:
        return Faults("what is slow was not localised: the documents that were judged are missing")
    node_type = _node_type(document, node.name)
    cells, tuned = _concerned(measured_cells(document), slow) if judged else measured_cells(document), _tuned(node)
    diagnosis = diagnose(node_type, cells, tuned=tuned)
    if not (judged or diagnosis.degraded or diagnosis.common):
        return None
    unseen = slow - {one.cell for one in diagnosis.bad} - set(diagnosis.left_out)
    blocks = (
        Text(tuple(_details(diagnosis, slow, unseen))),
        Text(("this is what would explain the slow cells together; it does not affect any verdict",), "small muted"),
    )
    found = model.as_json(diagnosis, document.kind, node_type.name, document.source)
    return Faults(_answer(diagnosis, judged), blocks, found)


def _tuned(node: NodeRun) -> dict[Cell, Healthy]:
    """The cells of which the site's tuned references say what they should have; of a sum each flow the same part, unless the fabric
    divides it as it likes."""
    found: dict[Cell, Healthy] = {}
    for metric in _metrics(node):
        reference, cell = metric.reference, metric.cell
        if cell is None or reference is None or reference.origin != "tuned" or not reference.value:
            continue
        if metric.derived or metric.unit != "GB/s" or metric.flow is not None or divided_by_the_fabric(cell):
            continue
        bounds = [bound for bound in (reference.lowest, metric.degraded_below) if bound is not None]
        slack = 1 - max(bounds) / reference.value if bounds else 0.0
        count = len(cell.flows)
        found[cell] = from_reference([reference.value / count] * count, [slack] * count, slack)
    return found


def _metrics(node: NodeRun) -> list[JudgedMetric]:
    explaining = merged_document.explaining()
    return [m for c in node.checks if c.name in explaining and c.verdict for m in c.verdict.metrics]


def _concerned(cells: list[MeasuredCell], slow: set[Cell]) -> list[MeasuredCell]:
    """The cells that may say something: those between GPUs only where one of these is slow (they are many)."""
    between = any(flow.kind == "peer" for cell in slow for flow in cell.flows)
    return [one for one in cells if between or all(flow.kind != "peer" for flow in one.cell.flows)]


def _node_type(document: Document, host: str) -> NodeType:
    """A modelled node's own type, whose prediction is healthy; of a measured one nothing but the node is known."""
    name = document.raw.get("node_type")
    if document.kind == "modelled" and isinstance(name, str):
        try:
            return load_node_type(name, site_directories())
        except NearfarError:
            pass  # another site's: siblings still tell
    return node_type_of(document.node, host)


def _answer(diagnosis: Diagnosis, judged: list[JudgedMetric]) -> str:
    """What explains the figures that were judged slow; where no part does, that."""
    if diagnosis.degraded or diagnosis.common or not judged:
        return sentence(diagnosis)
    return f"no part of the node explains the {plural(len(judged), 'slow figure')} alone"


def _details(diagnosis: Diagnosis, slow: set[Cell], unseen: set[Cell]) -> list[str]:
    found = []
    explained, slow_cells = len(diagnosis.bad) - len(diagnosis.unexplained), plural(len(diagnosis.bad), "slow cell")
    for blame in (blame for blames in diagnosis.sets for blame in blames):
        now = ", ".join(f"{name} {value:.1f} GB/s" for name, value in blame.now.items())
        factor = f"{blame.factor:.3f} [{blame.low:.3f}–{blame.high:.3f}] of healthy"
        found.append(
            f"{blame.part.name} ({blame.part.description}) at {factor}: {explained} of {slow_cells}; now {now}."
        )
    if odd := [pretty(one.cell) for one in diagnosis.bad if not one.explained]:
        found.append(f"Of {plural(len(diagnosis.bad), 'slow cell')} not explained: {listed(odd, _NAMED)}.")
    counts = diagnosis.origins.items()
    origins = "; ".join(f"{plural(count, 'cell')} with {model.ORIGINS[origin]}" for origin, count in counts)
    found.append(f"{plural(diagnosis.compared, 'cell')} compared: {origins}.")
    if diagnosis.left_out:
        found.append(f"{plural(len(diagnosis.left_out), 'cell')} left out: what they carry when healthy is unknown.")
    if unseen:
        some = sorted(unseen, key=lambda cell: (len(cell.flows), str(cell)))
        are = "is" if len(some) == 1 else "are"
        few = f"{len(some)} {are} as their siblings are: {listed(list(map(pretty, some)))}"
        more = "A good run of this node would show more: nearfar diagnose … --healthy."
        found.append(f"Of {plural(len(slow), 'cell')} judged slow {few}. {more}")
    return found
