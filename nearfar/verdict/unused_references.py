"""A site's tuned references of which not one fits a figure: the site believes that they judge, and something else does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearfar.base import Finding
from nearfar.verdict.references import Reference, ReferenceFile


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
        line = file.file.line(check)
        has = ", ".join(map(str, names))
        node = f"; this node's GPUs are {', '.join(models)}" if models else "; no GPU of this node has a known model"
        words = f"{file.file.path}:{line}: not one row of {check} fits a figure (it has {has}{node})"
        found.append(Finding("references", "INDETERMINATE", words))
    return found
