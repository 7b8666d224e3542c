"""Nodes that are not drained for what was found: held by a cap, by the floor, or because many have the same."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nearfar.slurm.findings import ActLog, SharedFault

from .decision import CAP, FLOOR, Decisions


@dataclass(frozen=True)
class HeldNodes:
    """Nodes that are held for one ``cause``, which is a name for the log, and why, in words."""

    cause: str
    nodes: tuple[str, ...]
    words: str


def shared(decisions: Decisions) -> Iterator[tuple[SharedFault, tuple[str, ...]]]:
    """What is found on many nodes at once, with those of them that it is still held against: no person has answered it there."""
    evidence = {each.node: each.evidence for each in decisions.nodes if each.evidence is not None}
    for blame in decisions.blamed:
        key = (blame.check, blame.metric, blame.hard)
        nodes = tuple(node for node in blame.nodes if node in evidence and evidence[node].metric == key)
        if nodes:
            yield blame, nodes


def held(decisions: Decisions, stopped: str | None) -> Iterator[HeldNodes]:
    """All that is held, by cause; ``stopped``: why a cap stops drains."""
    for blame, nodes in shared(decisions):
        kind = "hard" if blame.hard else "speed"
        yield HeldNodes(f"same_metric {blame.check} {blame.metric} {kind}", nodes, blame.words)
    by: dict[str, list[str]] = defaultdict(list)
    for each in decisions.nodes:
        by[each.held].append(each.node)
    if by[CAP]:
        yield HeldNodes(
            CAP, tuple(by[CAP]), f"drains are stopped: {stopped}" if stopped else "act could not read that reason back"
        )
    if by[FLOOR]:
        yield HeldNodes(FLOOR, tuple(by[FLOOR]), "too few nodes of their partition would be usable without them")


def write_down(now: Mapping[str, HeldNodes], before: Mapping[str, frozenset[str]], system: str, log: ActLog) -> None:
    """Write into the log which nodes are held since the last call, and which are no more. ``before``: the log's, by cause."""
    for cause, one in now.items():
        new = sorted(set(one.nodes) - before.get(cause, frozenset()))
        if new:
            log.note("held", time.time(), cause=cause, nodes=new, why=one.words, system=system)
    for cause, nodes in before.items():
        gone = sorted(nodes - set(now[cause].nodes if cause in now else ()))
        if gone:
            log.note("held_over", time.time(), cause=cause, nodes=gone, system=system)
