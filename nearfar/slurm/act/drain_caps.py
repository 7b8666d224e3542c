"""How many nodes may be drained: beyond a cap drains stop, until a person allows them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nearfar.site import Policy
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import LogSummary, drained_by_us

from .decision import DRAIN, NOTHING, Decision, headline

_DAY = 86400.0


def within_caps(
    decisions: Sequence[Decision], nodes: Mapping[str, NodeState], policy: Policy, past: LogSummary, now: float
) -> tuple[list[Decision], str | None]:
    """The decisions without the drains that the caps do not allow, or that are stopped already; and why this stops them."""
    ours = [name for name, state in nodes.items() if drained_by_us(state)]
    today = [name for name, at in past.drains if now - at < _DAY]  # a node counts once, however often it was begun
    stop, why = None, past.stopped
    held: dict[str, Decision] = {}
    for decision in sorted((d for d in decisions if d.action == DRAIN), key=_severity):
        if why is None:
            stop = why = _beyond(decision.node, nodes, ours, today, policy)
        if why is not None:
            assert decision.evidence is not None
            how = "a person allows them: nearfar slurm allow-drains --because WORDS"
            words = f"{headline(decision.evidence)}: held, drains are stopped ({why}); {how}"
            held[decision.node] = replace(decision, action=NOTHING, why=words, reason=None)
        else:
            ours.append(decision.node)
            today.append(decision.node)
    return [held.get(decision.node, decision) for decision in decisions], stop


def _severity(decision: Decision) -> tuple[object, ...]:
    assert decision.evidence is not None
    return (*decision.evidence.severity[:2], decision.node)


def _beyond(
    name: str, nodes: Mapping[str, NodeState], ours: Sequence[str], today: Sequence[str], policy: Policy
) -> str | None:
    """Why one more drain is too many; None where it is not."""
    for cap, before, when in ((policy.per_day, today, "within a day"), (policy.in_all, ours, "in all")):
        counted = {*before, name}
        if len(counted) > cap.nodes:
            return f"no more than {cap.nodes} drained {when}"
        for partition in nodes[name].partitions:
            members = {n for n, state in nodes.items() if partition in state.partitions}
            most = cap.of(len(members))
            if len(counted & members) > most:
                which = "the one node" if len(members) == 1 else f"the {len(members)} nodes"
                return f"no more than {most} of {which} of partition {partition} drained {when}"
    return None
