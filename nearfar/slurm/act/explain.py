"""Decisions in words: a line for each node, all that is known of one, and JSON."""

from __future__ import annotations

from typing import Any

from nearfar.base import NearfarError, second_text
from nearfar.site import Policy
from nearfar.slurm.controller import node_names
from nearfar.slurm.findings import confirmation

from .act import ActResult
from .decision import NOTHING, Decision
from .view import ActView


def all_nodes(view: ActView, policy: Policy, done: ActResult | None, why: bool) -> str:
    """A line for each decision and each node that waits for a person, then what is blamed on references, then why
    drains are stopped.
    ``why``: all other nodes too."""
    problems = {} if done is None else done.problems
    lines = [] if done is None else [*done.recovered, *done.unclear]
    for decision in view.decisions.nodes:
        listed = decision.held or decision.waits or decision.drained or decision.evidence is not None
        if decision.action == NOTHING and not (why or listed):
            continue
        lines += _lines(decision, done is None, problems.get(decision.node))
    lines += [*view.decisions.died.values(), *view.decisions.up_again.values()]
    lines += [f"blamed on no node: {blame.words}" for blame in view.decisions.blamed]
    stopped = view.decisions.stop or view.past.stopped
    if stopped:
        word = "would be" if done is None and view.past.stopped is None else "are"
        lines.append(
            f"drains {word} stopped: {stopped}; nothing is drained until a person says: nearfar slurm allow-drains --because WORDS"
        )
    if view.refused:
        more = "s were" if len(view.refused) > 1 else " was"
        lines.append(
            f"{len(view.refused)} file{more} not believed: what is wrong with the nodes they speak of is not known"
        )
    lines += view.other_systems
    unjudged = sorted(
        {run.node for run in view.runs if run.verdict == "INDETERMINATE" and view.now - run.known <= policy.max_age}
    )
    if unjudged and not why:
        lines.append(
            f"could not be judged, which never acts: {node_names.fold(unjudged)}; nearfar slurm status NODE says why"
        )
    return "\n".join(lines) or f"{policy.system}: nothing to do"


def _lines(decision: Decision, dry: bool, problem: str | None) -> list[str]:
    none = "held" if decision.held else "waits" if decision.waits else "drained" if decision.drained else "-"
    word = none if decision.action == NOTHING else f"would {decision.action}" if dry else decision.action
    if problem is not None:
        return [f"{decision.node:<12} {'not done':<13} {problem}"]
    if decision.reason is None:
        return [f"{decision.node:<12} {word:<13} {decision.why}"]
    return [f"{decision.node:<12} {word:<13} {decision.reason}", f"{'':<12} {'':<13} {decision.why}"]


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


def document(view: ActView, done: ActResult | None, name: str = "") -> dict[str, Any]:
    """``nearfar-act/1``; of the node ``name`` alone, where one is given."""
    problems = {} if done is None else done.problems
    return {
        "schema": "nearfar-act/1",
        "dry_run": done is None,
        "latch": view.decisions.stop or view.past.stopped,
        "nodes": [
            {"node": d.node, "action": d.action, "reason": d.reason, "why": d.why, "waits": d.waits, "held": d.held,
             "done": d.node in problems and problems[d.node] is None, "problem": problems.get(d.node),
             "state": None if d.node not in view.nodes else view.nodes[d.node].words, "evidence": _evidence(view, d.node)}
            for d in view.decisions.nodes
            if name in ("", d.node)
        ],
        "blamed": [
            {"check": b.check, "metric": b.metric, "hard": b.hard, "nodes": list(b.nodes), "tested": b.tested}
            for b in view.decisions.blamed
        ],
        "refused": list(view.refused),
        "clocks": list(view.clocks),
        "died": list(view.decisions.died),
        "up_again": list(view.decisions.up_again),
        "unheard": list(view.other_systems),
        "recovered": [] if done is None else list(done.recovered),
        "unclear": [] if done is None else list(done.unclear),
    }  # fmt: skip


def _evidence(view: ActView, name: str) -> list[dict[str, Any]]:
    """The open hard evidence of a node."""
    hard = view.decisions.hard.get(name)
    return [
        {"check": e.found_by.check, "run": e.found_by.run, "what": e.finding.what, "code": e.finding.code, "words": e.finding.words,
         "known": second_text(e.found_by.known), "acted_on": e.stands, "why": e.why}
        for e in (() if hard is None else hard.open)
    ]  # fmt: skip
