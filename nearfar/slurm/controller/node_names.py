"""Lists of nodes as Slurm writes them: ``n[1-4,7],login1``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nearfar.base import NearfarError, node_lists, printable

#: A node's name: safe in a path and as an argument.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")


def expand(nodes: str) -> list[str]:
    """The names of a node list, each once, in the list's natural order. Raises ``NearfarError`` for a list that cannot be read, or is of
    too many names. Groups (``@rack1``) and set operators are ClusterShell's, not Slurm's: refused."""
    if re.search(r"[^A-Za-z0-9._,\[\]-]", nodes):
        raise NearfarError(f"'{printable(nodes)}': not a node list such as n[1-4,7]")
    try:
        names = list(map(str, node_lists.node_set(nodes)))
    except node_lists.NodeListError as error:
        raise NearfarError(f"'{nodes}': {error}") from None
    wrong = next((name for name in names if not NAME.fullmatch(name)), None)
    if wrong is not None:
        raise NearfarError(f"'{nodes}': '{wrong}' is not the name of a node")
    return names


def listed(nodes: str, option: str) -> list[str]:
    """The names of a list that a user gave with an option. Raises as ``expand`` does, and for a list of no node."""
    names = expand(nodes)
    if not names:
        raise NearfarError(f"{option} '{nodes}': names no node; give a list such as n[1-4,7]")
    return names


def fold(names: Iterable[str]) -> str:
    """The shortest list of some nodes: ``n[1-4,7]``."""
    return str(node_lists.node_set(",".join(names)))
