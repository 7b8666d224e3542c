"""All that is known of one node, in words."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.base import CouldNotJudge, NearfarError, passes, second_text
from nearfar.site import HEALTH, MPI_PAIRS, Policy
from nearfar.slurm.act import ActView, messages
from nearfar.slurm.findings import RUN, CheckRun, confirmation

from .line_breaks import broken
from .node_group import GOOD, GROUPS, NOT_MEASURED, OTHERS, SUSPECT, NodeStatus

#: Runs that are shown, the newest.
_RUNS = 20
#: Decisions that say no more than the node's group.
_NOTHING = (messages.NO_FAIL.code, messages.NOTHING_KNOWN.code)
#: Groups whose words are not those of the decision.
_SAY_LESS = (SUSPECT, OTHERS, NOT_MEASURED, GOOD)


def check_known(view: ActView, name: str) -> None:
    """Raise ``NearfarError`` for a node that Slurm does not have, and of which there is no result."""
    known = {each.node for each in view.decisions.nodes} | view.nodes.keys()
    if view.trouble is not None:
        if name not in known | view.past.drained.keys() | view.past.since.keys():
            raise CouldNotJudge(f"{name}: the log and the results know nothing of it, and slurmctld does not answer")
    elif name not in known:
        raise NearfarError(f"Slurm has no node {name}, and no result is of it")


def one(view: ActView, policy: Policy, status: NodeStatus) -> str:
    """Everything about one node: its state, its past, its runs, its FAILs and whether they stand, and last what is to be done."""
    name, state = status.node, view.nodes.get(status.node)
    lines = [name]
    if state is not None:
        given = "" if state.reason_by is None else f" [{state.reason_by}, {state.reason_at:%Y-%m-%d %H:%M:%S} UTC]"
        lines.append(f"  state     {state.words}" + (f", reason '{state.reason}'{given}" if state.reason else ""))
        lines += [f"  comment   '{state.comment}'"] if state.comment else []
    elif view.trouble is not None:
        lines.append("  state     not known: slurmctld does not answer")
    else:
        lines.append("  state     Slurm has no such node")
    lines += _past(view, name)
    runs = [run for run in view.runs if run.node == name]
    for run in sorted(runs, key=lambda run: (run.ended, run.check), reverse=True)[:_RUNS]:
        lines += _run(run)
    hard = view.decisions.hard.get(name)
    slow = confirmation.slow_figures(runs, policy, view.past.since.get(name, 0.0), view.now)
    for each in (*(() if hard is None else hard.open), *slow):
        step = policy.step(each.found_by.check, each.finding.hard)
        kind = "hard evidence" if each.finding.hard else "speed"
        lines.append(f"  FAIL      {each.found_by.check} ({kind}; at most: {step}): {each.finding.reason}")
        lines.append(f"            {each.why}")
    lines += [f"  shared    {blame.words}" for blame in view.decisions.blamed if name in blame.nodes]
    return "\n".join([*lines, *_now(view, status)])


def _run(run: CheckRun) -> Iterator[str]:
    """A run, and of one that did not pass what it said and the file that says so."""
    yield f"  run       {run.run} {run.check:<22} {run.verdict:<13} {second_text(run.ended)}"
    if run.words:
        yield f"            {run.words}"
    if run.source and not passes(run.verdict):
        file = "" if run.check == HEALTH else "/result.json" if run.check in (RUN, MPI_PAIRS) else "/verdict.json"
        yield f"            {run.source}{file}"


def _now(view: ActView, status: NodeStatus) -> Iterator[str]:
    """Where the node stands in ``nearfar slurm status``, and what is to be done."""
    yield f"  now       {GROUPS[status.group]}"
    yield from (f"            {line}" for words in (status.found, status.words) for line in broken(words))
    decision = next((each for each in view.decisions.nodes if each.node == status.node), None)
    if decision is None or view.trouble is not None:
        return
    said = decision.cause.code in _NOTHING or decision.cause.reason in f"{status.words}"
    if status.group in _SAY_LESS and not said:
        yield f"            act: {decision.why}"


def _past(view: ActView, name: str) -> list[str]:
    lines = []
    drained, state = view.past.drained.get(name), view.nodes.get(name)
    begun = view.past.begun.get(name)
    if begun is not None and begun != drained:
        lines.append(
            f"  begun     a drain on {second_text(begun.at)}, which the node does not show: as if it had not been"
        )
    if drained is not None:
        kind = {None: "not by this log", True: "hard evidence", False: "speed, confirmed"}[drained.hard]
        since = "" if state is None or state.out else "; resumed since by somebody else"
        before = "" if drained.hard is not None else "before "
        lines.append(f"  drained   {before}{second_text(drained.at)} for {drained.check} ({kind}){since}")
    if name in view.past.cleared:
        lines.append(f"  cleared   {second_text(view.past.cleared[name])} by a person")
    hard = view.decisions.hard.get(name)
    for each in () if hard is None else hard.closed:
        assert each.closed_by is not None
        lines.append(
            f"  closed    {each.found_by.check} {each.finding.subject}: repaired, and run {each.closed_by.run} passed"
        )
    return lines
