"""What disturbed OSU's runs: ranks that waited for their own cores, and repetitions that had to be cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.base import NOT_JUDGED, Finding
from nearfar.measurement import Document

#: A rank that waited for its core for more than this part of its time shared it with others.
BUSY = 0.25
#: So many repetitions of each size are as good as OSU's own: there is nothing to tell.
ENOUGH = 100


def busy(document: Mapping[str, Any]) -> dict[str, float]:
    """The cases of a raw document whose ranks shared their cores, each with the part of its time that one waited."""
    waited: Mapping[str, float] = (document.get("mpi") or {}).get("waited") or {}
    return {case: part for case, part in waited.items() if part > BUSY}


def findings(document: Document | None) -> list[Finding]:
    """Figures of busy cores are not the node's own: INDETERMINATE; that repetitions were cut is a note."""
    raw = {} if document is None else document.raw
    shared = busy(raw)
    found = []
    if shared:
        words = (
            f"others ran on the ranks' cores: a rank waited up to {max(shared.values()):.0%} of its time for its own"
        )
        found.append(Finding("cores", "INDETERMINATE", f"{_named(list(shared))}: {words}"))
    made: dict[str, int] = (raw.get("mpi") or {}).get("iterations") or {}
    cut = {case: repeats for case, repeats in made.items() if repeats < ENOUGH}
    if cut:
        words = f"OSU's own repetitions would have taken too long: {min(cut.values())} of each size at least"
        found.append(Finding("repetitions", NOT_JUDGED, f"{_named(list(cut))}: {words}"))
    return found


def _named(cases: list[str]) -> str:
    return ", ".join(cases[:3]) + (f" and {len(cases) - 3} more" if len(cases) > 3 else "")
