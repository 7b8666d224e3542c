"""Which host names are one machine, and which software most machines run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def by_name(boards: Iterable[tuple[str, frozenset[str]]]) -> dict[str, str]:
    """The host of each name: the first of the names that had the same boards in every run, else the name itself.

    ``boards`` are a name and the UUIDs of all GPUs that were measured under it in one run. A name whose boards changed is a host of
    its own: boards move between hosts, and are its own where they were measured. So is one without boards.
    """
    sets: dict[str, set[frozenset[str]]] = {}
    for name, own in boards:
        sets.setdefault(name, set()).update([own] if own else [])
    # A run of one check may see fewer boards than the next.
    whole = {name: frozenset().union(*own) for name, own in sets.items()}
    alike: dict[frozenset[str], list[str]] = {}
    for name in sorted(sets):
        if whole[name] and whole[name] in sets[name]:
            alike.setdefault(whole[name], []).append(name)
    return {**{name: name for name in sets}, **{name: names[0] for names in alike.values() for name in names}}


def majority(seen: Iterable[tuple[str, T, datetime | None]]) -> T | None:
    """What most hosts had last, of a host, what it had, and when (None: its clock was wrong then, which counts only where no host's
    was right); of equally many the latest. None where nothing was seen."""
    every = list(seen)
    known = [each for each in every if each[2] is not None] or every
    in_order = sorted(((when or datetime.min, host, what) for host, what, when in known), key=lambda each: each[0])
    newest = {what: when for when, _, what in in_order}
    counts = Counter({host: what for _, host, what in in_order}.values())
    return max(counts, key=lambda what: (counts[what], newest[what]), default=None)
