"""A site's tuned references of which not one fits a figure: the site believes that they judge, and something else does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.base import Finding
from nearfar.measurement import AnyMetric
from nearfar.question import judged_elsewhere
from nearfar.verdict.references import Reference, ReferenceFile, row_keys

from .messages import REFERENCES_UNUSED


def findings(
    files: Sequence[ReferenceFile], check: str, figures: Sequence[AnyMetric], references: Mapping[str, Reference | None],
    models: Sequence[str],
) -> list[Finding]:  # fmt: skip
    """One for each tuned file that has rows for ``check`` and gave none of the ``references`` of its ``figures``; ``models``: the node's
    GPUs. Rows of what another figure judges, from an older file, are ignored."""
    used = {reference.file for figure in figures if (reference := references[figure.name]) is not None}
    ignored = {row for figure in figures if judged_elsewhere(check, figure) for row in row_keys(figure)}
    found = []
    for file in files:
        tables = file.tables.get(check, {})
        names = tables.get(None, tables)
        known = {row for table in tables.values() for row in table}
        if file.origin != "tuned" or known <= ignored or not figures or str(file.file.path) in used:
            continue
        where: dict[str, Any] = {"file": str(file.file.path), "line": file.file.line(check), "check": check}
        found.append(REFERENCES_UNUSED.finding("references", **where, rows=list(map(str, names)), models=list(models)))
    return found
