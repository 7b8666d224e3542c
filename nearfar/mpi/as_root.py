"""Open MPI refuses to start ranks as root unless it is told twice that they may; what the pack starts itself it may.

The variables are set for those launches alone, never for a user's own.
"""

from __future__ import annotations

import os
import sys

from nearfar.base import NOT_JUDGED, Finding
from nearfar.measurement import Document

#: What people are told of it.
WORDS = "started as root, which Open MPI refuses by itself: OMPI_ALLOW_RUN_AS_ROOT was set for this launch alone"


def is_root() -> bool:
    """Whether this process, and with it the ranks that it starts, is root's."""
    return os.geteuid() == 0


def environment() -> dict[str, str]:
    """The variables that let Open MPI 4 and 5 start ranks as root; none for any other user."""
    names = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT") if is_root() else ()
    return {f"{name}{end}": "1" for name in names for end in ("", "_CONFIRM")}


def say() -> None:
    """Tell on standard error that ranks are started as root."""
    print(f"nearfar: the ranks are {WORDS}", file=sys.stderr, flush=True)


def notes(document: Document | None) -> list[Finding]:
    """That an Open MPI started the ranks of a document as root, as a note of a check."""
    mpi = "" if document is None else str(document.raw["node"].get("software", {}).get("mpi") or "")
    return [Finding("root", NOT_JUDGED, f"the ranks were {WORDS}")] if is_root() and mpi.startswith("Open MPI") else []
