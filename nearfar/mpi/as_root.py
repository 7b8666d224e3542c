"""Open MPI refuses to start ranks as root unless it is told twice that they may; what the pack starts itself it may.

The variables are set for those launches alone, never for a user's own.
"""

from __future__ import annotations

import os

from nearfar import base
from nearfar.base import Finding
from nearfar.binding import LAUNCHERS, MPIS, Mpi
from nearfar.measurement import Document

from . import messages


def is_root() -> bool:
    """Whether this process, and with it the ranks that it starts, is root's."""
    return os.geteuid() == 0


def environment() -> dict[str, str]:
    """The variables that let Open MPI 4 and 5 start ranks as root; none for any other user."""
    names = [name for row in LAUNCHERS.values() for name in row.as_root] if is_root() else []
    return {f"{name}{end}": "1" for name in names for end in ("", "_CONFIRM")}


def is_needed(mpi: Mpi) -> bool:
    """Whether this MPI's launcher starts the ranks of this process's user only if it is told that it may."""
    return is_root() and bool(LAUNCHERS[mpi.kind].as_root)


def say() -> None:
    """Tell on standard error that ranks are started as root."""
    base.say(messages.AS_ROOT.text("root", {}))


def notes(document: Document | None) -> list[Finding]:
    """That an Open MPI started the ranks of a document as root, as a note of a check."""
    mpi = "" if document is None else str(document.raw["node"].get("software", {}).get("mpi") or "")
    refusing = [each.title for each in MPIS.values() if LAUNCHERS[each.launcher].as_root]
    return [messages.AS_ROOT.finding("root")] if is_root() and mpi.startswith(tuple(refusing)) else []
