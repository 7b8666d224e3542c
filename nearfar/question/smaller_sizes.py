"""Figures of arrays that are smaller than usual, because memory was in use: other figures than those of the usual size."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Finding
from nearfar.measurement import Document


def smaller_sizes(document: Document | None) -> list[Finding]:
    """A note of each result that no reference of the usual size judges."""
    results = [] if document is None else document.results
    words = "another figure than that of the usual size, and not compared with it"
    return [
        Finding(str(result.cell), NOT_JUDGED, f"{result.cell}: {result.smaller}: {words}")
        for result in results
        if result.smaller
    ]
