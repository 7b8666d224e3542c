"""What is to be done about each node: findings × node states × policy × past → actions with reasons. Pure.

Whatever is doubtful leads to no action, with the doubt as its reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from nearfar.base import Finding, good
from nearfar.question import covering_health
from nearfar.site import HEALTH, MPI_PAIRS, Policy
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import (
    RUN,
    WRONG_DATA,
    CheckRun,
    Evidence,
    HardEvidence,
    LogSummary,
    OurDrain,
    SharedFault,
    blamed,
    confirmation,
    deaths,
    drained_by_us,
    hard_evidence,
    objection_to_comment,
    objection_to_drain,
    objections,
    our_comment,
    our_reason,
    reasons,
    that_drains,
    unreadable,
)

from . import messages
from .decision import (
    CAP,
    COMMENT,
    DRAIN,
    NOTHING,
    RESUME,
    SAME_METRIC,
    UNCOMMENT,
    Decision,
    Decisions,
    headline,
    reason_of,
)
from .drain_caps import within_caps
from .waiting_nodes import for_a_person

_NONE = HardEvidence()


def decide(
    runs: Sequence[CheckRun], nodes: Mapping[str, NodeState], policy: Policy, past: LogSummary, now: float
) -> Decisions:
    """The decisions on every node that has runs or open evidence, carries our reason or waits for a person, by name."""
    by_node: dict[str, list[CheckRun]] = defaultdict(list)
    for run in runs:
        by_node[run.node].append(run)
    hard = {
        name: hard_evidence.of_node(by_node.get(name, ()), name, nodes.get(name), past, now)
        for name in {*past.evidence, *past.closed_evidence, *by_node}
    }
    found = {
        name: (*one.open, *_slow(by_node.get(name, ()), nodes.get(name), policy, past.since.get(name, 0.0), now))
        for name, one in hard.items()
    }
    # Nodes drained for it a while ago fail as well: what came with a driver comes node by node.
    everywhere = {
        name: (
            *one.open,
            *(replace(each, closed_at=hard_evidence.passed_at(each)) for each in one.closed),
            *past.closed_evidence.get(name, ()),
            *_slow_ever(by_node.get(name, ()), policy, past.put_right.get(name, 0.0), now),
        )
        for name, one in hard.items()
    }
    blames = blamed(everywhere, runs, policy, now)
    many = {(node, blame.check, blame.metric, blame.hard): blame for blame in blames for node in blame.nodes}
    decisions = []
    waiting = {
        n: cause
        for n, state in nodes.items()
        if (cause := for_a_person(n, state, past, that_drains(hard.get(n, _NONE), policy), policy)) is not None
    }
    ours = (n for n, state in nodes.items() if our_reason(state) is not None or our_comment(state) is not None)
    for name in sorted({*by_node, *past.evidence, *ours, *waiting}):
        mine = found.get(name, ())
        alike = [(e, many.get((name, *e.metric))) for e in mine if e.finding.code != WRONG_DATA]
        explained = [(e, blame) for e, blame in alike if blame is not None]
        counted = [e for e in mine if all(e is not other for other, _ in explained)]
        decision = _node(
            name, nodes.get(name), by_node.get(name, ()), counted, explained, policy, past, waiting.get(name)
        )
        decisions.append(_waiting(decision, waiting.get(name)))
    allowed, stop = within_caps(decisions, nodes, policy, past, now)
    died = {n: messages.DIED.finding(n, state=nodes[n].words).reason for n in deaths.died(nodes, past)}
    down = {n: nodes[n].words if nodes[n].base == "DOWN" else None for n in deaths.up_again(nodes, past)}
    up_again = {n: messages.UP_AGAIN.finding(n, state=state).reason for n, state in down.items()}
    return Decisions(tuple(allowed), tuple(blames), stop, hard, died, up_again)


def _slow(
    runs: Sequence[CheckRun], state: NodeState | None, policy: Policy, since: float, now: float
) -> list[Evidence]:  # fmt: skip
    """The slow figures of a node. On a drained one nothing grows old: what was found there holds until a person has been, or until
    the check passes, however many nights it failed before."""
    unending = replace(policy, max_age=inf, confirm_within=inf, intermittent=None)
    return confirmation.slow_figures(runs, unending if drained_by_us(state) else policy, since, now)


def _slow_ever(runs: Sequence[CheckRun], policy: Policy, put_right: float, now: float) -> Iterator[Evidence]:
    """The slow figures of a node, whether or not it was drained for them; those of runs from before ``put_right`` are closed."""
    for each in confirmation.slow_figures(runs, policy, 0.0, now):
        yield each if each.found_by.began > put_right else replace(each, closed_at=put_right)


def _waiting(decision: Decision, cause: Finding | None) -> Decision:
    """The decision on a node that waits for a person; as it was where there is no cause for that."""
    if cause is None or decision.action != NOTHING:
        return decision
    return replace(decision, cause=cause, waits=True)


def passed_since(node: str, runs: Sequence[CheckRun], drained: OurDrain, floor: float) -> Finding:
    """PASS where the check that drained a node has passed in its newest run that began after ``floor``, else why not."""
    right = (
        (drained.check, covering_health()) if drained.check == HEALTH else (drained.check,)
    )  # both look at the node's parts
    later = [run for run in runs if run.check in right and run.began > floor]
    newest = max(later, key=lambda run: run.ended, default=None)
    if newest is None:
        return messages.NOT_RUN.finding(node, check=drained.check, nodes="two" if drained.check == MPI_PAIRS else None)
    if newest.clears(drained.figure):
        return messages.PASSED.finding(node, check=newest.check, run=newest.run)
    message = messages.NOT_COVERED if good(newest.verdict) else messages.NOT_PASSED
    return message.finding(
        node, check=drained.check, run=newest.run, figure=drained.figure, verdict_of=newest.verdict
    )  # fmt: skip


def _node(
    name: str, state: NodeState | None, runs: Sequence[CheckRun], counted: Sequence[Evidence],
    explained: Sequence[tuple[Evidence, SharedFault]], policy: Policy, past: LogSummary, waits: Finding | None,
) -> Decision:  # fmt: skip
    first = next(iter(counted), None)
    if state is None:
        hard = first if first is not None and first.finding.hard else None
        return Decision(name, NOTHING, messages.NO_SUCH_NODE.finding(name), evidence=hard)
    unknown = unreadable(state)
    if unknown is not None:
        return Decision(name, NOTHING, messages.UNREADABLE.finding(name, objection=unknown), evidence=first)
    if drained_by_us(state):
        # Who is drained stays so while hard evidence is open, whosever fault it is.
        return _resume(name, state, runs, [*counted, *(e for e, _ in explained if e.finding.hard)], policy, past, waits)
    ranked = [(policy.step(e.found_by.check, e.finding.hard), e) for e in counted]
    drains = [e for step, e in ranked if step == DRAIN and e.stands]
    if drains:
        return _drain(name, state, drains[0])
    comments = [e for step, e in ranked if step == COMMENT and e.stands]
    if comments:
        return _comment(name, state, comments[0])
    if our_comment(state) is not None:
        return _uncomment(name, state, runs)
    shared = next((each for each in explained if each[0].finding.hard), None)
    if shared is not None:  # before figures of the node's own that drain nobody: a person decides
        return _explained(name, *shared, policy)
    if ranked:
        step, worst = ranked[0]
        observed = messages.OBSERVED.finding(name, check=worst.found_by.check)
        return Decision(name, NOTHING, observed if step == "observe" else _stands(name, worst), evidence=worst)
    if explained:
        return _explained(name, *explained[0], policy)
    unclear = next((run for run in runs if run.verdict == "INDETERMINATE"), None)
    if unclear is not None:
        message = messages.NOT_ALL_RAN if unclear.check == RUN else messages.NOT_JUDGEABLE
        of_run = (run.words for run in runs if run.run == unclear.run and run.verdict == "INDETERMINATE")
        cause = "; ".join(filter(None, of_run))
        return Decision(name, NOTHING, message.finding(name, check=unclear.check, run=unclear.run, cause=cause))
    return Decision(name, NOTHING, (messages.NO_FAIL if runs else messages.NOTHING_KNOWN).finding(name))


def _stands(name: str, worst: Evidence) -> Finding:
    return messages.STANDS.finding(name, cause=worst.why)


def _explained(name: str, found: Evidence, blame: SharedFault, policy: Policy) -> Decision:
    """What is found on too many nodes at once to be the node's own."""
    hard = found.finding.hard
    message = messages.SHARED_HARD if hard else messages.SHARED
    cause = message.finding(name, nodes=len(blame.nodes), tested=blame.tested, system=policy.system)
    return Decision(name, NOTHING, cause, evidence=found, held=SAME_METRIC if hard else "")


def _drain(name: str, state: NodeState, worst: Evidence) -> Decision:
    objection = objection_to_drain(state)
    if objection is not None:
        return Decision(name, NOTHING, messages.NOT_DRAINED.finding(name, objection=objection), evidence=worst)
    made = reason_of(worst)
    if reasons.read(str(made)) != made:  # a drain that is not known again for ours counts against no cap
        return Decision(name, NOTHING, messages.UNREAD_REASON.finding(name), evidence=worst, held=CAP)
    return Decision(name, DRAIN, _stands(name, worst), str(made), worst)


def _comment(name: str, state: NodeState, worst: Evidence) -> Decision:
    objection = objection_to_comment(state)
    if objection is not None:
        return Decision(name, NOTHING, messages.NO_COMMENT.finding(name, objection=objection), evidence=worst)
    if state.comment is not None:
        return Decision(name, NOTHING, messages.COMMENTED.finding(name), evidence=worst)
    return Decision(name, COMMENT, _stands(name, worst), str(reason_of(worst)), worst)


def _uncomment(name: str, state: NodeState, runs: Sequence[CheckRun]) -> Decision:
    ours = our_comment(state)
    assert ours is not None
    of_check = [run for run in runs if run.check.removesuffix("_check") == ours.check]
    newest = max(of_check, key=lambda run: run.ended, default=None)
    if newest is not None and good(newest.verdict):
        passed = messages.PASSED.finding(name, check=newest.check, run=newest.run)
        return Decision(name, UNCOMMENT, passed, state.comment)
    return Decision(name, NOTHING, messages.KEEPS_COMMENT.finding(name, check=ours.check))


def _resume(
    name: str, state: NodeState, runs: Sequence[CheckRun], counted: Sequence[Evidence], policy: Policy, past: LogSummary,
    waits: Finding | None,
) -> Decision:  # fmt: skip
    assert state.reason is not None
    if waits is not None:
        ours = our_reason(state)
        others = (e for e in counted if e.finding.hard and (ours is None or e.found_by.run != ours.run))
        return Decision(name, NOTHING, waits, evidence=next(others, None))
    drained = past.drained[name]
    # What it passed before it died says nothing of it.
    floor = max(drained.at, *(times.get(name, 0.0) for times in (past.cleared, past.died, past.up_again)))
    cause = passed_since(name, runs, drained, floor)
    if not good(cause.verdict):
        pairs = drained.check == MPI_PAIRS and not state.dead
        stays = messages.STAYS.finding(
            name, cause=cause.reason, state=state.words if state.dead else None, retest=None if state.dead else name,
            beside="OTHER" if pairs else None,
        )  # fmt: skip
        return Decision(name, NOTHING, stays, drained=True)
    still = next((e for e in counted if policy.step(e.found_by.check, e.finding.hard) == DRAIN), None)
    other = objections.objection_to_resume(state, state.reason) if still is None else headline(still)
    if other is not None:
        stays = messages.STAYS_FOR.finding(name, cause=cause.reason, other=other)
        return Decision(name, NOTHING, stays, evidence=still, drained=True)
    return Decision(name, RESUME, cause, state.reason)
