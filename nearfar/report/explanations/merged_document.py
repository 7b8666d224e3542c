"""The documents of a node's checks as one, for what explains figures instead of judging them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nearfar.base import NearfarError
from nearfar.measurement import Document, from_raw, merge
from nearfar.question import questions
from nearfar.verdict import NodeRun

_Found = TypeVar("_Found")


def explaining() -> list[str]:
    """The checks with bandwidths of the same cells in the same way. Of a cell that several measured the last one's figure
    counts."""
    ranked = [(question.explains, question.name) for question in questions() if question.explains is not None]
    return [name for _, name in sorted(ranked)]


def merged(node: NodeRun) -> Document | None:
    """The documents of all checks that explain, merged in their order; None where there is none."""
    checks = {check.name: check.document for check in node.checks if check.document}
    documents = [from_raw(checks[name], name) for name in explaining() if name in checks]
    return merge(documents) if documents else None


def or_note(find: Callable[[], _Found], note: Callable[[str], _Found], what: str) -> _Found:
    """What ``find`` finds. An explanation that fails leaves a note: it must never cost the page."""
    try:
        return find()
    except NearfarError as error:
        return note(str(error))
    except Exception as error:
        return note(f"{what} failed: {type(error).__name__}: {error}; please report it with the run's documents")
