"""A site's tuned references of which not one fits a figure: the site believes that they judge, and something else does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.base import Finding
from nearfar.verdict.references import Reference, ReferenceFile

from .messages import REFERENCES_UNUSED


def findings(
    files: Sequence[ReferenceFile], check: str, references: Mapping[str, Reference | None], models: Sequence[str]
) -> list[Finding]:
    """One for each tuned file that has rows for ``check`` and gave none of ``references``; ``models``: the node's GPUs."""
    used = {reference.file for reference in references.values() if reference is not None}
    found = []
    for file in files:
        tables = file.tables.get(check, {})
        names = tables.get(None, tables)
        if file.origin != "tuned" or not names or not references or str(file.file.path) in used:
            continue
        where: dict[str, Any] = {"file": str(file.file.path), "line": file.file.line(check), "check": check}
        found.append(REFERENCES_UNUSED.finding("references", **where, rows=list(map(str, names)), models=list(models)))
    return found
