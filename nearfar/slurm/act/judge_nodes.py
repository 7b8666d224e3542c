"""The state of every node, from what the ledger and Slurm say: pure. What is doubtful leads to no action, with the doubt as cause."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from nearfar.base import Finding, grouped, minute_text, passes, second_text
from nearfar.site import HEALTH, Policy
from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import DrainCaps, objections, our_reason, reasons
from nearfar.slurm.drains import messages as cap_messages
from nearfar.slurm.findings import WRONG_DATA, SharedFault, blamed, confirmation
from nearfar.slurm.ledger import RUN, CheckRun, Evidence, LastVerdict, Past

from . import messages
from . import node_states as states
from .node_states import Fleet, NodeStatus, reason_of


@dataclass(frozen=True)
class Facts:
    """What the ledger and Slurm say of all nodes at ``now`` (seconds since 1970)."""

    policy: Policy
    now: float
    nodes: Mapping[str, NodeState]
    past: Past
    #: Hard evidence that is open, or was known within ``max_age``.
    evidence: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    #: All runs that count, of nodes with a slow figure.
    runs: Mapping[str, Sequence[CheckRun]] = field(default_factory=dict)
    #: The newest run of each check within ``max_age``, and when each node was measured last.
    last: Mapping[str, Sequence[LastVerdict]] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    #: The nodes of the system's file.
    hosts: Collection[str] = ()

    @cached_property
    def open_evidence(self) -> Mapping[str, Sequence[Evidence]]:
        """Of each node of ``evidence``, what is still open."""
        return {node: [each for each in these if each.closed_at > self.now] for node, these in self.evidence.items()}

    @cached_property
    def slow(self) -> Mapping[str, Sequence[Evidence]]:
        """Of each node of ``runs``, its slow figures since it was last given back."""
        since = self.past.since
        return {
            node: confirmation.slow_figures(runs, self.policy, since.get(node, 0.0), self.now)
            for node, runs in self.runs.items()
        }

    def caps(self) -> DrainCaps:
        """The drains that count now."""
        return DrainCaps(self.nodes, self.policy, self.now, self.past.drained_at, self.past.retested)


def judge(facts: Facts) -> Fleet:
    """The state of every node of the system, and of every other that anything is known of."""
    against = {
        node: [*facts.evidence.get(node, ()), *_slow_ever(facts, node)] for node in {*facts.evidence, *facts.runs}
    }
    tested = grouped((each.check, node) for node, these in facts.last.items() for each in these)
    shared = blamed(against, tested, facts.policy)
    many = {(node, fault.key): fault for fault in shared for node in fault.nodes}
    names = {
        *facts.hosts, *facts.evidence, *facts.runs, *facts.last, *facts.past.drained,
        *(n for n, s in facts.nodes.items() if our_reason(s)),
    }  # fmt: skip
    found = {}
    for name in sorted(names):
        evidence = [*facts.open_evidence.get(name, ()), *facts.slow.get(name, ())]
        keys = {each.metric for each in evidence}
        found[name] = _state(facts, name, evidence, {key: many[name, key] for key in keys if (name, key) in many})
    worst = {(node, status.evidence.metric) for node, status in found.items() if status.evidence is not None}
    standing = tuple(fault for fault in shared if any((node, fault.key) in worst for node in fault.nodes))
    return Fleet(_within_caps(facts, found), standing)


def _slow_ever(facts: Facts, node: str) -> Iterator[Evidence]:
    """The slow figures of a node, whether or not it was drained for them; those of runs from before that are closed."""
    since = facts.past.since.get(node, 0.0)
    for each in confirmation.slow_figures(facts.runs.get(node, ()), facts.policy, 0.0, facts.now):
        yield each if each.found_by.began > since else replace(each, closed_at=since)


def _state(facts: Facts, name: str, evidence: Sequence[Evidence], many: Mapping[object, SharedFault]) -> NodeStatus:
    state, past = facts.nodes.get(name), facts.past
    worst = next(iter(evidence), None)
    made = NodeStatus(
        name, states.GOOD, messages.GOOD.finding(name), worst, slurm=state, measured=facts.measured.get(name), since=_since(facts, name),
    )  # fmt: skip
    if name in past.retested:
        return made.to(states.RETEST, messages.IN_RETEST.finding(name, reservation=past.retested[name]))
    if state is None:
        return made.to(states.UNCLEAR, messages.NO_SUCH_NODE.finding(name))
    doubt = objections.unreadable(state)
    if doubt is not None:
        return made.to(states.UNCLEAR, messages.UNREADABLE.finding(name, objection=doubt))
    if objections.drained_by_us(state, name in past.drained):
        return made.to(states.DRAINED, _drained(facts, name, state))
    if state.out or (state.down and not evidence):  # one that does not answer may answer again, with its fault
        drain, reason = past.drained.get(name), " ".join((state.why_out or "").split())
        if drain is not None and state.drain:
            return made.to(states.OTHERS, messages.REASON_EDITED.finding(name, reason=reason, ours=drain.reason))
        if objections.drained_by_prolog(state) and worst is not None and worst.finding.hard:
            return made.to(states.DRAINED, messages.PROLOG_FAILED.finding(name, reason=reason))
        who = state.reason_by if state.why_out else None
        return made.to(states.OTHERS, messages.OTHERS.finding(name, state=state.words, reason=reason or None, who=who))
    return _by_evidence(facts, made, evidence, many, state)


def _since(facts: Facts, name: str) -> float | None:
    state, drain = facts.nodes.get(name), facts.past.drained.get(name)
    if drain is not None and state is not None and state.drain:
        return drain.at
    if state is None or not (state.out or state.down) or state.reason_at is None:
        return None
    return state.reason_at.timestamp()


def _drained(facts: Facts, name: str, state: NodeState) -> Finding:
    dead = f"it does not answer ({state.words}): check its console and power-cycle it" if state.dead else None
    flaps = flapping(facts.past, facts.policy, name)
    if flaps is not None:
        return messages.FLAPS.finding(name, count=flaps[0], since=second_text(flaps[1]), dead=dead)
    return messages.DRAINED.finding(name, dead=dead)


def flapping(past: Past, policy: Policy, node: str) -> tuple[int, float] | None:
    """How often a node was drained within the time that the site's file names, and since when; None: not often enough to flap."""
    times = past.drains.get(node, ())
    lately = [at for at in times if times[-1] - at <= policy.flaps.within]
    return (len(lately), lately[0]) if len(lately) >= max(2, policy.flaps.drains) else None


def _by_evidence(
    facts: Facts, made: NodeStatus, evidence: Sequence[Evidence], many: Mapping[object, SharedFault], state: NodeState,
) -> NodeStatus:  # fmt: skip
    """The state of a node in use. Wrong data is never explained by others: whatever its cause, jobs on the node have it too."""
    policy, name = facts.policy, made.node
    explained = [each for each in evidence if each.metric in many and each.finding.code != WRONG_DATA]
    own = [each for each in evidence if each not in explained]
    standing = [(policy.step(each.found_by.check, each.finding.hard), each) for each in own if each.stands]
    to_drain = next((each for step, each in standing if step == "drain"), None)
    if to_drain is not None:
        return _to_drain(made, to_drain, state)
    held = next((each for each in (*own, *explained) if each.finding.hard), None)
    if held is not None and held in explained:
        fault = many[held.metric]
        cause = messages.SHARED_HARD.finding(name, nodes=len(fault.nodes), tested=fault.tested)
        return made.to(states.HELD, cause, evidence=held, held=states.BY_SAME_METRIC)
    if held is not None:
        check, quoted = held.found_by.check, shlex.quote(str(reason_of(held)))
        cause = messages.OBSERVED.finding(name, check=check, quoted=quoted)
        return made.to(states.HELD, cause, evidence=held, held=states.BY_STEP)
    if own:
        worst = own[0]
        message = messages.STANDS if worst.stands else messages.NOT_CONFIRMED
        return made.to(states.SUSPECT, message.finding(name, cause=worst.why), evidence=worst)
    if explained:
        fault = many[explained[0].metric]
        cause = messages.SHARED.finding(name, nodes=len(fault.nodes), tested=fault.tested, system=policy.system)
        return made.to(states.SUSPECT, cause, evidence=explained[0])
    return _by_runs(facts, made)


def _to_drain(made: NodeStatus, worst: Evidence, state: NodeState) -> NodeStatus:
    name, reason = made.node, str(reason_of(worst))
    objection = objections.objection_to_drain(state)
    if objection is not None:
        return made.to(states.SUSPECT, messages.NOT_DRAINED.finding(name, objection=objection), evidence=worst)
    if reasons.read(reason) is None:  # a drain that is not recognised as ours counts against no cap
        return made.to(states.HELD, messages.UNREAD_REASON.finding(name), evidence=worst, held=states.BY_CAP)
    cause = messages.STANDS.finding(name, cause=worst.why)
    return made.to(states.TO_DRAIN, cause, evidence=worst, action=states.DRAIN, reason=reason)


def _by_runs(facts: Facts, made: NodeStatus) -> NodeStatus:
    name, answered = made.node, facts.past.answered.get(made.node)
    after = 0.0 if answered is None else answered.at
    measured = max((each.known for each in facts.last.get(name, ()) if each.check not in (HEALTH, RUN)), default=0.0)
    last = [each for each in facts.last.get(name, ()) if each.known > after or passes(each.verdict)]
    # Cases that did not run concern their run alone: a newer run went without that.
    last = [each for each in last if each.check != RUN or each.known >= measured]
    for verdict in ("INDETERMINATE", "FAIL", "DEGRADED"):
        these = [each for each in last if each.verdict == verdict]
        checks = ", ".join(sorted(each.check for each in these))
        if verdict == "INDETERMINATE" and these:
            first = next((each for each in these if each.check == RUN), these[0])
            message = messages.NOT_ALL_RAN if first.check == RUN else messages.NOT_JUDGEABLE
            cause = message.finding(name, checks=checks, run=first.run, cause=first.words or None)
            return made.to(states.UNJUDGED, cause)
        if these:
            words = next((each.words for each in these if each.words), None)
            cause = messages.NOT_GOOD.finding(name, verdict_of=verdict, checks=checks, cause=words)
            return made.to(states.SUSPECT, cause)
    if measured <= after and answered is not None and name not in facts.past.released:
        return made.to(states.CLEARED, messages.CLEARED.finding(name, when=minute_text(after)))
    if not measured:
        when = "never measured" if made.measured is None else f"last measured on {minute_text(made.measured)}"
        return made.to(states.NOT_MEASURED, messages.NOT_MEASURED.finding(name, when=when))
    return made


def _within_caps(facts: Facts, found: Mapping[str, NodeStatus]) -> dict[str, NodeStatus]:
    """The states in which the drains that the caps and floors forbid are held, the worst finding first."""
    caps = facts.caps()
    result = dict(found)
    drains = [(status.evidence, status) for status in found.values() if status.action == states.DRAIN]
    for evidence, status in sorted(
        ((evidence, status) for evidence, status in drains if evidence is not None),
        key=lambda each: (each[0].severity[:2], each[1].node),
    ):
        objection = caps.objection(status.node)
        if objection is None:
            caps.add(status.node)
            continue
        floor = objection.code == cap_messages.FLOOR.code
        harm = "WRONG DATA" if evidence.finding.code == WRONG_DATA else None
        message = messages.HELD_FLOOR if floor else messages.HELD_CAP
        cause = message.finding(status.node, cause=objection.reason, harm=harm, quoted=shlex.quote(status.reason or ""))
        result[status.node] = status.to(
            states.HELD, cause, action="nothing", reason=None, held=states.BY_FLOOR if floor else states.BY_CAP
        )
    return result
