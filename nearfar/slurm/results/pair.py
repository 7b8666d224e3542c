"""One node, or the pair of nodes that a job measures together, and what directories and options call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Pair(NamedTuple):
    """Two nodes that are measured together."""

    one: str
    other: str


def joined(nodes: Sequence[str]) -> str:
    """The name of a directory, and of a job's option, for a node or the two of a pair: ``n1``, ``n1+n2``."""
    return "+".join(nodes)


def parted(name: str) -> tuple[str, ...]:
    """The node of such a name (a tuple of one), or the ``Pair``."""
    nodes = tuple(name.split("+"))
    return Pair(*nodes) if len(nodes) == 2 else nodes
