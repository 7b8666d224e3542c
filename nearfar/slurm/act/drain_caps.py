"""How many nodes may be drained: beyond a cap drains stop, until a person allows them again; where too few nodes of a partition
would be left, they are held while that lasts."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from nearfar.base import Finding
from nearfar.site import Policy
from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import messages as cap_messages
from nearfar.slurm.findings import WRONG_DATA, LogSummary, drained_by_us

from . import messages
from .decision import CAP, DRAIN, FLOOR, NOTHING, Decision


@dataclass(frozen=True)
class UsedUp:
    """Why one drain more is too many, in words, and the nodes that use up what may be out, whoever has taken them out."""

    why: str
    by: frozenset[str]


def used_up(nodes: Mapping[str, NodeState], policy: Policy, past: LogSummary, now: float) -> list[UsedUp]:
    """What keeps ``act`` from draining one usable node more, whatever is found on it: caps, and the floors of partitions."""
    ours, today, out = _counted(nodes, past, now)
    # What is true of one node is true of all of the same partitions.
    one_of = {state.partitions: name for name, state in nodes.items() if state.usable and name not in {*ours, *today}}
    found: dict[UsedUp, None] = {}
    for name in sorted(one_of.values()):
        for each in (_beyond(name, nodes, ours, today, policy), _too_few_left(name, nodes, ours, out, policy)):
            found |= {} if each is None else {each: None}
    return list(found)


def within_caps(
    decisions: Sequence[Decision], nodes: Mapping[str, NodeState], policy: Policy, past: LogSummary, now: float
) -> tuple[list[Decision], str | None]:
    """The decisions without the drains that the caps and the floor do not allow, or that are stopped already; and why a cap stops
    them."""
    ours, today, out = _counted(nodes, past, now)
    stop, why = None, past.stopped
    held: dict[str, Decision] = {}
    for decision in sorted((d for d in decisions if d.action == DRAIN), key=_severity):
        too_few = None if why is not None else _too_few_left(decision.node, nodes, ours, out, policy)
        if why is None and too_few is None:
            beyond = _beyond(decision.node, nodes, ours, today, policy)
            stop = why = None if beyond is None else beyond.why
        if why is not None:
            held[decision.node] = _held(decision, CAP, messages.STOPPED.finding(decision.node, cause=why))
        elif too_few is not None:
            held[decision.node] = _held(decision, FLOOR, _while_too_few(decision, too_few.why))
        else:
            ours.append(decision.node)
            today.append(decision.node)
            out.add(decision.node)
    return [held.get(decision.node, decision) for decision in decisions], stop


def _counted(
    nodes: Mapping[str, NodeState], past: LogSummary, now: float
) -> tuple[list[str], list[str], set[str]]:  # fmt: skip
    """The nodes that ``act`` has drained, those that it has drained within a day, and those that are not usable."""
    ours = [name for name, state in nodes.items() if drained_by_us(state)]
    return ours, list(past.drained_today(now)), {name for name, state in nodes.items() if not state.usable}


def _severity(decision: Decision) -> tuple[object, ...]:
    assert decision.evidence is not None
    return (*decision.evidence.severity[:2], decision.node)


def _held(decision: Decision, by: str, cause: Finding) -> Decision:
    return replace(decision, action=NOTHING, cause=cause, reason=None, held=by)


def _while_too_few(decision: Decision, too_few: str) -> Finding:
    assert decision.evidence is not None
    harm = "WRONG DATA" if decision.evidence.finding.code == WRONG_DATA else None
    quoted = shlex.quote(decision.reason or "")
    return messages.TOO_FEW.finding(decision.node, cause=too_few, harm=harm, quoted=quoted)


def _too_few_left(
    name: str, nodes: Mapping[str, NodeState], ours: Collection[str], out: Set[str], policy: Policy
) -> UsedUp | None:
    """In which partition one drain more leaves too few usable nodes; None where it does not. One that is not usable already takes
    nothing away."""
    if name in out:
        return None
    for partition in nodes[name].partitions:
        members = {n for n, state in nodes.items() if partition in state.partitions and state.base != "FUTURE"}
        least, gone = policy.floor.of(len(members)), members & out
        if len(members) - len(gone) - 1 < least:
            why = cap_messages.FLOOR.finding(
                name, partition=partition, out=len(gone), members=len(members), others=len(gone - set(ours)), least=least
            )  # fmt: skip
            return UsedUp(why.reason, frozenset(gone))
    return None


def _beyond(
    name: str, nodes: Mapping[str, NodeState], ours: Sequence[str], today: Sequence[str], policy: Policy
) -> UsedUp | None:
    """Why one more drain is too many; None where it is not."""
    for cap, before, when in ((policy.per_day, today, "within a day"), (policy.in_all, ours, "in all")):
        counted = {*before, name}
        if len(counted) > cap.nodes:
            return UsedUp(cap_messages.CAP.finding(name, most=cap.nodes, when=when).reason, frozenset(before))
        for partition in nodes[name].partitions:
            members = {n for n, state in nodes.items() if partition in state.partitions}
            most = cap.of(len(members))
            if len(counted & members) > most:
                message = cap_messages.CAP_OF_ONE if len(members) == 1 else cap_messages.CAP
                why = message.finding(name, most=most, members=len(members), partition=partition, when=when)
                return UsedUp(why.reason, frozenset(members.intersection(before)))
    return None
