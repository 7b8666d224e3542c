"""Lists of node names in bracket form (``gpu001,gpu[004-032]``), read by ClusterShell after they were counted."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

#: A list of more names is a slip of the hand: about ten times the nodes of the largest GPU machines (El Capitan has 11,136),
#: and still expanded in a quarter of a second.
MOST = 100_000
_RANGE = re.compile(r"\s*(\d+)-(\d+)(?:/(\d+))?\s*")
_ENDS = re.compile(r"(?<=[\[,])(\d+)-(\d+)(?=[/,\]])")
#: A longer list is not repeated in a message.
_SHOWN = 60
#: Longer numbers are no node's.
_DIGITS = 18


class NodeListError(ValueError):
    """Why a list cannot be read or is too long, without the list itself."""


def count(nodes: str) -> int:
    """How many names a list stands for, at most (a name given twice counts twice), without making them."""
    total, brackets = 0, 1  # brackets: the product of those of the present name
    for part in re.findall(r"\[[^\]]*\]?|[^\[]+", nodes):
        if part.startswith("["):
            brackets *= sum(map(_in_range, part.strip("[]").split(",")))
        elif "," in part:
            # Up to the first comma it is still the name before; of names without brackets there is one each.
            total += brackets + part.count(",") - 1
            brackets = 1
    return total + brackets


def _in_range(text: str) -> int:
    match = _RANGE.fullmatch(text)
    if match is None:
        return 1
    if len(match[2]) > _DIGITS:
        return MOST + 1
    first, last, step = (int(number[-_DIGITS:]) for number in (match[1], match[2], match[3] or "1"))
    return max(1, (last - first) // max(1, step) + 1)


def node_set(nodes: str) -> Any:
    """A list as ClusterShell's ``NodeSet``, without groups. Raises ``NodeListError``."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

    refuse_too_many(count(nodes))
    try:
        return NodeSet(nodes, resolver=RESOLVER_NOGROUP)
    except (NodeSetException, ValueError) as error:
        raise NodeListError(_of_digits(nodes) or f"not a node list such as n[1-4,7]: {error}") from None


def _of_digits(nodes: str) -> str:
    """What is wrong with a range whose ends have leading zeros and unlike lengths; empty where there is none."""
    for match in _ENDS.finditer(nodes):
        longest = max(map(len, match.groups()))
        if len(match[1]) != len(match[2]) and "0" in (match[1][0], match[2][0]) and longest <= _DIGITS:
            ends = "-".join(number.zfill(longest) for number in match.groups())
            example = f"{nodes[: match.start()]}{ends}{nodes[match.end() :]}" if len(nodes) <= _SHOWN else ends
            return f"not a node list: write both ends with the same number of digits, {example}"
    return ""


def folded(names: Iterable[str]) -> str:
    """``gpu[001-038]``; as they are where one of them (of a broken document) cannot be part of such a list."""
    listed = list(names)
    try:
        return str(node_set(",".join(listed))) if listed else ""
    except NodeListError:
        return ", ".join(listed)


def listed_twice(nodes: str) -> str | None:
    """A name that a list has twice; None where there is none, and ``NodeListError`` as of ``node_set``."""
    if count(nodes) == len(node_set(nodes)):
        return None
    seen: set[str] = set()
    for item in re.split(r",(?![^\[]*\])", nodes):
        parts = re.split(r"\[(.*?)\]", item)  # each second one is what brackets hold
        choices = [[f"[{one}]" for one in part.split(",")] if at % 2 else [part] for at, part in enumerate(parts)]
        for names in ([str(name) for name in node_set("".join(chosen))] for chosen in itertools.product(*choices)):
            if twice := next((name for name in names if name in seen), None):
                return twice
            seen.update(names)
    return None


def refuse_too_many(names: int) -> None:
    """Raises ``NodeListError`` for more names than ``MOST``."""
    if names > MOST:
        raise NodeListError(f"a list of {names:,} names; at most {MOST:,} are read")
