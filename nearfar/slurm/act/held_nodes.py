"""Nodes that are not drained for what was found: held by a cap, by the floor, or because many have the same; and whether that, or
something else that ``act`` cannot fix, waits for a person."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nearfar.site import Policy
from nearfar.slurm.findings import ActLog, SharedFault

from .decision import CAP, DRAIN, FLOOR, NOTHING, Decision, Decisions
from .view import ActView


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


def told(decisions: Decisions, policy: Policy) -> Iterator[tuple[SharedFault, tuple[str, ...]]]:
    """Those of ``shared`` that keep ``act`` from something that the site allows it: a person is told."""
    for blame, nodes in shared(decisions):
        if not blame.hard or policy.step(blame.check, True) == DRAIN:
            yield blame, nodes


def in_use_though_faulty(decision: Decision, seen: ActView) -> bool:
    """Whether a node is in use though its drain is held, or hard evidence of it is open for which ``act`` does not drain it."""
    state = seen.nodes.get(decision.node)
    if decision.action != NOTHING or decision.waits or decision.drained or decision.evidence is None:
        return False
    in_use = state is not None and state.usable and not state.gone
    return in_use and not seen.past.retested(decision.node) and (bool(decision.held) or decision.evidence.finding.hard)


def waits(seen: ActView, policy: Policy) -> bool:
    """Whether a person has to do something before ``act`` can do its part: drains are stopped or held, a fault is on many nodes at
    once, a faulty node is in use, a result is not believed, a clock is off, evidence is another system's, Slurm does not answer.
    Nodes that ``act`` has drained are not asked for: it has done its part."""
    stopped = seen.decisions.stop or seen.past.stopped or seen.decisions.held or seen.trouble
    unheard = seen.refused or seen.clocks or seen.other_systems
    shared_faults = seen.trouble is None and any(told(seen.decisions, policy))
    return bool(stopped or unheard or shared_faults) or any(in_use_though_faulty(d, seen) for d in seen.decisions.nodes)


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
            CAP,
            tuple(by[CAP]),
            f"drains are stopped: {stopped}" if stopped else "act could not read its own reason back",
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
