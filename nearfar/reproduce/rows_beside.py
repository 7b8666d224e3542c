"""A paper's rows as three columns: what was published, what the model says, what a run of this site measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError
from nearfar.cells import Cell
from nearfar.model.prediction import NodeType, Prediction, load_node_type, predict
from nearfar.verdict import JudgedMetric, NodeRun, cell_of

from .paper_files import Paper, PaperRow

#: Units of which the model and the checks have figures of cells.
_OF_CELLS = "GB/s"


@dataclass(frozen=True)
class FigureBeside:
    """One published figure of a cell beside the model's and the site's, GB/s; ``basis`` is the prediction's."""

    cell: Cell
    published: float
    modelled: float | None
    basis: str
    measured: float | None
    compared: bool

    @property
    def difference(self) -> float | None:
        """Measured, else modelled, over published, less 1; None of an input of the model, and of another kind of node."""
        if self.measured is not None:
            return self.measured / self.published - 1 if self.compared else None
        return None if self.modelled is None or self.basis == "input" else self.modelled / self.published - 1


@dataclass(frozen=True)
class RowBeside:
    """A row with its figures; none where its figures are of no cell."""

    row: PaperRow
    figures: tuple[FigureBeside, ...]


def beside(paper: Paper, directories: Sequence[Path], run: NodeRun | None = None) -> list[RowBeside]:
    """Every row of a paper with what the model says, and what a node of a run measured."""
    return [RowBeside(row, tuple(_figures(row, directories, run))) for row in paper.rows]


def _figures(row: PaperRow, directories: Sequence[Path], run: NodeRun | None) -> Iterator[FigureBeside]:
    if row.unit != _OF_CELLS or len(row.values) != len(row.cells) or not row.node_type:
        return
    node_type = load_node_type(row.node_type, directories)
    alike = run is not None and same_kind(run, node_type)
    for cell, published in zip(row.cells, row.values):
        found = _prediction(cell, node_type)
        measured = None if run is None else _measured(cell, row.check, run)
        basis = "" if found is None else found.basis
        yield FigureBeside(cell, published, None if found is None else found.total, basis, measured, alike)


def _prediction(cell: Cell, node_type: NodeType) -> Prediction | None:
    try:
        return predict(cell, node_type)
    except NearfarError:
        return None


def same_kind(run: NodeRun, node_type: NodeType) -> bool:
    """Whether a run's node has the GPUs of a node type, by model and number."""
    if run.node is None:
        return False
    return sorted(str(gpu.name) for gpu in run.node.gpus) == sorted(str(gpu.name) for gpu in node_type.node.gpus)


def _measured(cell: Cell, check: str, run: NodeRun) -> float | None:
    for record in run.checks:
        if record.verdict is not None and (record.name == check or not check):
            for metric in record.verdict.metrics:
                if _whole(metric) and cell_of(metric.subject) == cell:
                    return metric.value
    return None


def _whole(metric: JudgedMetric) -> bool:
    """Whether a figure is a cell's own: of a lone flow, or of all together."""
    return not metric.derived and metric.flow is None


def as_json(paper: Paper, rows: Sequence[RowBeside], node: str | None) -> dict[str, Any]:
    """``nearfar-reproduce/1``."""
    return {
        "schema": "nearfar-reproduce/1",
        "paper": paper.name,
        "title": paper.title,
        "node": node,
        "rows": [_row_json(each) for each in rows],
    }


def _row_json(one: RowBeside) -> dict[str, Any]:
    row = one.row
    optional = ("unit", "impossible", "node_type", "check", "command", "lacks", "not_asked")
    return {
        "id": row.id,
        "papers": list(row.papers),
        "place": row.place,
        "kind": row.kind,
        "what": row.what,
        "state": row.state,
        "values": list(row.values),
        **{key: value for key in optional if (value := getattr(row, key))},
        "figures": [
            {
                "cell": str(figure.cell),
                "published": figure.published,
                "modelled": figure.modelled,
                "basis": figure.basis or None,
                "measured": figure.measured,
                "difference": figure.difference,
            }
            for figure in one.figures
        ],
    }
