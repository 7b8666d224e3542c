"""Decisions in words, a line for each node, and as JSON."""

from __future__ import annotations

from typing import Any

from nearfar.base import second_text
from nearfar.site import Policy
from nearfar.slurm.controller import node_names

from .act import ActResult
from .decision import NOTHING, Decision
from .view import ActView


def all_nodes(view: ActView, policy: Policy, done: ActResult | None) -> str:
    """A line for each decision and each node that waits for a person, then what is blamed on references, then why
    drains are stopped."""
    problems = {} if done is None else done.problems
    lines = [] if done is None else [*done.recovered, *done.unclear]
    for decision in view.decisions.nodes:
        listed = decision.held or decision.waits or decision.drained or decision.evidence is not None
        if decision.action == NOTHING and not listed:
            continue
        lines += _lines(decision, done is None, problems.get(decision.node))
    lines += [*view.decisions.died.values(), *view.decisions.up_again.values()]
    lines += [f"blamed on no node: {blame.words}" for blame in view.decisions.blamed]
    stopped = view.decisions.stop or view.past.stopped
    if stopped:
        word = "would be" if done is None and view.past.stopped is None else "are"
        lines.append(
            f"drains {word} stopped: {stopped}; nothing is drained until you type: nearfar slurm allow-drains --because WORDS"
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
    if unjudged:
        lines.append(
            f"could not be judged, and act does nothing for it: {node_names.fold(unjudged)}; see nearfar slurm status NODE"
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


def document(view: ActView, done: ActResult | None) -> dict[str, Any]:
    """``nearfar-act/1``."""
    problems = {} if done is None else done.problems
    return {
        "schema": "nearfar-act/1",
        "dry_run": done is None,
        "latch": view.decisions.stop or view.past.stopped,
        "nodes": [
            {"node": d.node, "action": d.action, "reason": d.reason, "why": d.why, "code": d.cause.code,
             "waits": d.waits, "held": bool(d.held), "problem": problems.get(d.node),
             "done": d.node in problems and problems[d.node] is None,
             "state": None if d.node not in view.nodes else view.nodes[d.node].words, "evidence": _evidence(view, d.node)}
            for d in view.decisions.nodes
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
        {"check": e.found_by.check, "run": e.found_by.run, "finding": e.finding.to_raw(),
         "known": second_text(e.found_by.known), "acted_on": e.stands, "why": e.why}
        for e in (() if hard is None else hard.open)
    ]  # fmt: skip
