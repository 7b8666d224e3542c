"""All that is known of one node, in words."""

from __future__ import annotations

from nearfar.base import NearfarError, passes, second_text
from nearfar.site import Policy
from nearfar.slurm.act import NOTHING, ActView
from nearfar.slurm.findings import confirmation


def one(view: ActView, policy: Policy, name: str) -> str:
    """Everything about one node: its state, its runs, its FAILs and whether they stand, its past, the decision."""
    decision = next((d for d in view.decisions.nodes if d.node == name), None)
    state = view.nodes.get(name)
    if state is None and decision is None:
        raise NearfarError(f"Slurm has no node {name}, and no result is of it")
    lines = [name]
    if state is not None:
        given = "" if state.reason_by is None else f" [{state.reason_by}, {state.reason_at:%Y-%m-%d %H:%M:%S} UTC]"
        lines.append(f"  state     {state.words}" + (f", reason '{state.reason}'{given}" if state.reason else ""))
        lines += [f"  comment   '{state.comment}'"] if state.comment else []
    lines += _past(view, name)
    runs = [run for run in view.runs if run.node == name]
    for run in sorted(runs, key=lambda run: (run.ended, run.check), reverse=True)[:20]:
        lines.append(f"  run       {run.run} {run.check:<22} {run.verdict:<13} {second_text(run.ended)}")
        lines += [f"            {run.words}"] if run.words else []
        lines += [f"            {run.source}"] if run.source and not passes(run.verdict) else []
    hard = view.decisions.hard.get(name)
    slow = confirmation.slow_figures(runs, policy, view.past.since.get(name, 0.0), view.now)
    for each in (*(() if hard is None else hard.open), *slow):
        step = policy.step(each.found_by.check, each.finding.hard)
        kind = "hard evidence" if each.finding.hard else "speed"
        lines.append(f"  FAIL      {each.found_by.check} ({kind}; at most: {step}): {each.finding.words}")
        lines.append(f"            {each.why}")
    lines += [f"  blamed    {blame.words}" for blame in view.decisions.blamed if name in blame.nodes]
    if decision is not None:
        action = "nothing" if decision.action == NOTHING else decision.action
        lines.append(f"  so        {action}: {decision.why}")
        lines += [f"            {decision.reason}"] if decision.reason else []
    else:
        lines.append("  so        nothing: no result of it counts")
    return "\n".join(lines)


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
            f"  closed    {each.found_by.check} {each.finding.what}: repaired, and run {each.closed_by.run} passed"
        )
    return lines
