"""What is to be done about each node: findings × node states × policy × past → actions with reasons. Pure.

Whatever is doubtful leads to no action, with the doubt as its reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from nearfar.base import good
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
        n: why
        for n, state in nodes.items()
        if (why := for_a_person(n, state, past, that_drains(hard.get(n, _NONE), policy), policy)) is not None
    }
    waiting = {n: f"{why}{_unanswered(nodes[n])}" for n, why in waiting.items()}
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
    died = {name: deaths.died_words(name, nodes[name]) for name in deaths.died(nodes, past)}
    up_again = {name: deaths.up_words(name, nodes[name]) for name in deaths.up_again(nodes, past)}
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


def _unanswered(state: NodeState) -> str:
    return f"; it does not answer ({state.words})" if state.dead else ""


def _waiting(decision: Decision, why: str | None) -> Decision:
    """The decision on a node that waits for a person for the reason ``why``; as it was where there is none."""
    if why is None or decision.action != NOTHING:
        return decision
    found = "" if decision.evidence is None else f"{headline(decision.evidence)}: "
    return replace(decision, why=found + why, waits=True)


def passed_since(runs: Sequence[CheckRun], drained: OurDrain, floor: float) -> tuple[bool, str]:
    """Whether the check that drained a node has passed in its newest run that began after ``floor``, and in words."""
    right = (
        (drained.check, covering_health()) if drained.check == HEALTH else (drained.check,)
    )  # both look at the node's parts
    later = [run for run in runs if run.check in right and run.began > floor]
    newest = max(later, key=lambda run: run.ended, default=None)
    if newest is None:
        two = ", which takes two nodes" if drained.check == MPI_PAIRS else ""
        return False, f"{drained.check} has not been run since{two}"
    if newest.clears(drained.what):
        return True, f"{newest.check} passed in run {newest.run}"
    if good(newest.verdict):
        return False, f"{drained.check} passed in run {newest.run}, which did not judge {drained.what}"
    return False, f"{drained.check} said {newest.verdict} in run {newest.run}"


def _node(
    name: str, state: NodeState | None, runs: Sequence[CheckRun], counted: Sequence[Evidence],
    explained: Sequence[tuple[Evidence, SharedFault]], policy: Policy, past: LogSummary, waits: str | None,
) -> Decision:  # fmt: skip
    if state is None:
        first = next(iter(counted), None)
        found = "" if first is None or not first.finding.hard else f"{headline(first)}: "
        return Decision(name, NOTHING, f"{found}Slurm has no such node", evidence=first if found else None)
    unknown = unreadable(state)
    if unknown is not None:
        return Decision(name, NOTHING, f"{unknown}; nothing is done about it", evidence=next(iter(counted), None))
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
        why = f"{worst.found_by.check} is only observed" if step == "observe" else worst.why
        return Decision(name, NOTHING, f"{headline(worst)}: {why}", evidence=worst)
    if explained:
        return _explained(name, *explained[0], policy)
    unclear = next((run for run in runs if run.verdict == "INDETERMINATE"), None)
    if unclear is not None:
        what = "not all that was to run did" if unclear.check == RUN else f"{unclear.check} could not be judged"
        of_run = (run.words for run in runs if run.run == unclear.run and run.verdict == "INDETERMINATE")
        why = "".join(f"; {words}" for words in of_run if words)
        return Decision(name, NOTHING, f"{what} (run {unclear.run}): that never acts{why}")
    return Decision(name, NOTHING, "no FAIL that counts" if runs else "nothing to act on")


def _explained(name: str, found: Evidence, blame: SharedFault, policy: Policy) -> Decision:
    """What is found on too many nodes at once to be the node's own."""
    held = "held, a person decides: " if found.finding.hard else ""
    how = f"; nearfar slurm clear {name} --because WORDS, or drain it"
    if not held:
        how = f": its reference, or the driver? nearfar tune --system {policy.system}"
    words = f"{held}as on {len(blame.nodes)} of {blame.tested} nodes at once{how}"
    return Decision(name, NOTHING, f"{headline(found)}: {words}", evidence=found, held=SAME_METRIC if held else "")


def _drain(name: str, state: NodeState, worst: Evidence) -> Decision:
    objection = objection_to_drain(state)
    if objection is not None:
        return Decision(name, NOTHING, f"{headline(worst)}: not drained: {objection}", evidence=worst)
    made = reason_of(worst)
    if reasons.read(str(made)) != made:  # a drain that is not known again for ours counts against no cap
        why = f"{headline(worst)}: held, act could not read that reason back; drain it by hand"
        return Decision(name, NOTHING, why, evidence=worst, held=CAP)
    return Decision(name, DRAIN, worst.why, str(made), worst)


def _comment(name: str, state: NodeState, worst: Evidence) -> Decision:
    objection = objection_to_comment(state)
    if objection is not None:
        return Decision(name, NOTHING, f"{headline(worst)}: no comment: {objection}", evidence=worst)
    if state.comment is not None:
        return Decision(name, NOTHING, f"{headline(worst)}: it has our comment already", evidence=worst)
    return Decision(name, COMMENT, worst.why, str(reason_of(worst)), worst)


def _uncomment(name: str, state: NodeState, runs: Sequence[CheckRun]) -> Decision:
    ours = our_comment(state)
    assert ours is not None
    of_check = [run for run in runs if run.check.removesuffix("_check") == ours.check]
    newest = max(of_check, key=lambda run: run.ended, default=None)
    if newest is not None and good(newest.verdict):
        return Decision(name, UNCOMMENT, f"{newest.check} passed in run {newest.run}", state.comment)
    return Decision(name, NOTHING, f"it keeps its comment until {ours.check} passes")


def _resume(
    name: str, state: NodeState, runs: Sequence[CheckRun], counted: Sequence[Evidence], policy: Policy, past: LogSummary,
    waits: str | None,
) -> Decision:  # fmt: skip
    assert state.reason is not None
    if waits is not None:
        ours = our_reason(state)
        other = (e for e in counted if e.finding.hard and (ours is None or e.found_by.run != ours.run))
        return Decision(name, NOTHING, waits, evidence=next(other, None))
    drained = past.drained[name]
    # What it passed before it died says nothing of it.
    floor = max(drained.at, *(times.get(name, 0.0) for times in (past.cleared, past.died, past.up_again)))
    passed, why = passed_since(runs, drained, floor)
    if not passed:
        beside = " --beside OTHER" if drained.check == MPI_PAIRS else ""
        how = _unanswered(state) if state.dead else f"; nearfar slurm retest {name}{beside}"
        return Decision(name, NOTHING, f"stays drained: {why}{how}", drained=True)
    still = next((e for e in counted if policy.step(e.found_by.check, e.finding.hard) == DRAIN), None)
    if still is not None:
        return Decision(name, NOTHING, f"stays drained: {why}, but {headline(still)}", evidence=still, drained=True)
    objection = objections.objection_to_resume(state, state.reason)
    if objection is not None:
        return Decision(name, NOTHING, f"stays drained: {why}, but {objection}", drained=True)
    return Decision(name, RESUME, why, state.reason)
