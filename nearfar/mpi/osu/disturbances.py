"""What disturbed OSU's runs: ranks that waited for their own cores, and repetitions that had to be cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.base import Finding
from nearfar.measurement import Document
from nearfar.mpi import messages

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
    notes = []
    if shared:
        notes.append(messages.BUSY_CORES.finding("cores", cases=list(shared), waited=max(shared.values())))
    made: dict[str, int] = (raw.get("mpi") or {}).get("iterations") or {}
    cut = {case: repeats for case, repeats in made.items() if repeats < ENOUGH}
    if cut:
        notes.append(messages.FEWER_REPETITIONS.finding("repetitions", cases=list(cut), fewest=min(cut.values())))
    return notes
