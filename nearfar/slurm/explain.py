"""Decisions in words: a line for each node, all that is known of one, and JSON."""

from __future__ import annotations

import time
from typing import Any

from nearfar.errors import NearfarError
from nearfar.ladder import Policy
from nearfar.slurm.act import Done, View
from nearfar.slurm.decide import NOTHING, Decision
from nearfar.slurm.standing import evidence


def all_nodes(view: View, policy: Policy, done: Done | None, why: bool) -> str:
    """A line for each decision and each node that waits for a person, then what is blamed on references, then the latch.
    ``why``: all other nodes too."""
    problems = {} if done is None else done.problems
    lines = [] if done is None else [*done.recovered, *done.unclear]
    for decision in view.decisions.nodes:
        if decision.action == NOTHING and not (why or decision.waits or decision.evidence is not None):
            continue
        lines += _lines(decision, done is None, problems.get(decision.node))
    lines += [f"blamed on no node: {blame.words}" for blame in view.decisions.blamed]
    closed = view.decisions.latch or view.past.latched
    if closed:
        word = "would close" if done is None and view.past.latched is None else "is closed"
        lines.append(
            f"the latch {word}: {closed}; nothing is drained until a person says: nearfar slurm act --reset-latch"
        )
    return "\n".join(lines) or f"{policy.system}: nothing to do"


def _lines(decision: Decision, dry: bool, problem: str | None) -> list[str]:
    none = "waits" if decision.waits else "-"
    word = none if decision.action == NOTHING else f"would {decision.action}" if dry else decision.action
    if problem is not None:
        return [f"{decision.node:<12} {'not done':<13} {problem}"]
    if decision.reason is None:
        return [f"{decision.node:<12} {word:<13} {decision.why}"]
    return [f"{decision.node:<12} {word:<13} {decision.reason}", f"{'':<12} {'':<13} {decision.why}"]


def one(view: View, policy: Policy, name: str) -> str:
    """Everything about one node: its state, its runs, its FAILs and whether they stand, its past, the decision."""
    decision = next((d for d in view.decisions.nodes if d.node == name), None)
    state = view.nodes.get(name)
    if state is None and decision is None:
        raise NearfarError(f"--explain: Slurm has no node {name}, and no result is of it")
    lines = [name]
    if state is not None:
        given = "" if state.reason_by is None else f" [{state.reason_by}, {state.reason_at:%Y-%m-%d %H:%M:%S} UTC]"
        lines.append(f"  state     {state.words}" + (f", reason '{state.reason}'{given}" if state.reason else ""))
        lines += [f"  comment   '{state.comment}'"] if state.comment else []
    lines += _past(view, name)
    runs = [run for run in view.runs if run.node == name]
    for run in sorted(runs, key=lambda run: (run.ended, run.check), reverse=True)[:20]:
        lines.append(f"  run       {run.run} {run.check:<22} {run.verdict:<13} {_utc(run.ended)}")
        lines += [f"            {run.words}"] if run.words else []
    for each in evidence(runs, policy, view.past.since.get(name, 0.0), view.now):
        step = policy.step(each.found.check, each.finding.hard)
        kind = "hard evidence" if each.finding.hard else "speed"
        lines.append(f"  FAIL      {each.found.check} ({kind}; at most: {step}): {each.finding.words}")
        lines.append(f"            {each.why}")
    lines += [f"  blamed    {blame.words}" for blame in view.decisions.blamed if name in blame.nodes]
    if decision is not None:
        action = "nothing" if decision.action == NOTHING else decision.action
        lines.append(f"  so        {action}: {decision.why}")
        lines += [f"            {decision.reason}"] if decision.reason else []
    else:
        lines.append("  so        nothing: no result of it counts")
    return "\n".join(lines)


def _past(view: View, name: str) -> list[str]:
    lines = []
    drained = view.past.drained.get(name)
    if drained is not None:
        kind = {None: "not by this log", True: "hard evidence", False: "speed, confirmed"}[drained.hard]
        lines.append(
            f"  drained   {'' if drained.hard is not None else 'before '}{_utc(drained.at)} for {drained.check} ({kind})"
        )
    if name in view.past.cleared:
        lines.append(f"  cleared   {_utc(view.past.cleared[name])} by a person")
    return lines


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def document(view: View, done: Done | None) -> dict[str, Any]:
    """``nearfar-act/1``."""
    problems = {} if done is None else done.problems
    return {
        "schema": "nearfar-act/1",
        "dry_run": done is None,
        "latch": view.decisions.latch or view.past.latched,
        "nodes": [
            {"node": d.node, "action": d.action, "reason": d.reason, "why": d.why, "waits": d.waits,
             "done": d.node in problems and problems[d.node] is None, "problem": problems.get(d.node)}
            for d in view.decisions.nodes
        ],
        "blamed": [
            {"check": b.check, "metric": b.metric, "hard": b.hard, "nodes": list(b.nodes), "tested": b.tested}
            for b in view.decisions.blamed
        ],
        "refused": list(view.refused),
        "recovered": [] if done is None else list(done.recovered),
        "unclear": [] if done is None else list(done.unclear),
    }  # fmt: skip
