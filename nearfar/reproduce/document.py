"""A paper beside model and site as a document: ``nearfar-reproduce/1``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nearfar
from nearfar.base import utc_text

from . import words
from .paper_files import Paper, PaperRow
from .rows_beside import FigureBeside, RowBeside
from .this_site import ThisSite

SCHEMA = "nearfar-reproduce/1"
_OPTIONAL = (
    "unit",
    "tolerance",
    "tolerance_source",
    "impossible",
    "remark",
    "node_type",
    "check",
    "command",
    "lacks",
    "not_asked",
    "unmodelled",
)


def as_json(paper: Paper, rows: Sequence[RowBeside], site: ThisSite | None) -> dict[str, Any]:
    """The paper as JSON objects; ``site`` None: no run was named."""
    return {
        "schema": SCHEMA,
        "program": {"name": "nearfar reproduce", "version": nearfar.__version__},
        "made": utc_text(),
        "paper": paper.name,
        "title": paper.title,
        "node": None if site is None else site.name,
        "run": None if site is None or site.run is None else str(site.run.folder.parent),
        "rows": [_row(row) for row in rows],
    }


def _row(beside: RowBeside) -> dict[str, Any]:
    row = beside.row
    return {
        "id": row.id, "papers": list(row.papers), "place": row.place, "kind": row.kind, "what": row.what, "state": row.state,
        "values": list(row.values), **{key: value for key in _OPTIONAL if (value := getattr(row, key))},
        "checks": [{"check": check, "verdict": verdict, "words": line} for check, verdict, line in beside.said],
        "model_says": beside.model_says or None, "site_says": beside.site_says or None, "because": beside.site_because or None,
        "figures": [_figure(figure, row) for figure in beside.figures],
    }  # fmt: skip


def _figure(figure: FigureBeside, row: PaperRow) -> dict[str, Any]:
    source = figure.published
    return {
        "name": source.name, "unit": source.unit or None, "node_type": source.node_type or None,
        "cell": str(source.asked) if source.asked.cells else None,
        "metric": str(source.asked) if source.asked.metric else None, "against": str(source.against) if source.against else None,
        "published": source.value, "tolerance": source.tolerance, "modelled": figure.modelled, "basis": figure.basis or None,
        "measured": figure.measured, "of": figure.site.what or None, "compared": figure.compared and figure.measured is not None,
        "difference": figure.difference, "words": words.difference(figure, row) or None, "because": figure.site.because or None,
    }  # fmt: skip
