"""The documents of a node's checks as one, for what explains figures instead of judging them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from nearfar.base import NearfarError
from nearfar.measurement import Document, from_raw, merge
from nearfar.verdict import NodeRun

#: Bandwidths of the same cells in the same way. Of a cell that several checks measured the last one's figure counts.
CHECKS = (
    "quick_check",
    "sharing_check",
    "peer_check",
    "host_device_check",
    "host_memory_check",
    "saturation_check",
)

_Found = TypeVar("_Found")


def merged(node: NodeRun, names: Sequence[str] = CHECKS) -> Document | None:
    """The documents of these checks, merged in this order; None where there is none."""
    checks = {check.name: check for check in node.checks}
    documents = [
        from_raw(check.document, f"{name}/document.json")
        for name in names
        if (check := checks.get(name)) is not None and check.document is not None
    ]
    return merge(documents) if documents else None


def or_note(find: Callable[[], _Found], note: Callable[[str], _Found], what: str) -> _Found:
    """What ``find`` finds. An explanation that fails leaves a note: it must never cost the page."""
    try:
        return find()
    except NearfarError as error:
        return note(str(error))
    except Exception as error:
        return note(f"{what} failed: {type(error).__name__}: {error}; please report it with the run's documents")
