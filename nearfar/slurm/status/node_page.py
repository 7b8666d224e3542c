"""All that is known of one node, and what was done about nodes, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nearfar.base import NearfarError, passes, second_text, utc_text
from nearfar.site import HEALTH
from nearfar.slurm.act import View, node_states
from nearfar.slurm.ledger import RUN, CheckRun, Ledger, LedgerAction, actions

from .status_page import broken

#: Runs that are shown, the newest, and actions.
_RUNS, _ACTIONS = 20, 20
_WORDS = {
    actions.DRAIN: "drained", actions.ADOPTED: "drained by its own health check", actions.DRAIN_AGAIN: "drained again after a retest",
    actions.DRAIN_AS_BEFORE: "drained as before a retest", actions.RETEST: "resumed for a retest", actions.RELEASE: "released",
    actions.CLEAR: "cleared", actions.RESUMED: "found resumed", actions.LAPSED: "in use again",
    actions.TAKE_OVER: "ledger taken over",
}  # fmt: skip
_OUTCOMES = {
    actions.BEGUN: "begun, and its end is not known",
    actions.REFUSED: "not done",
    actions.UNCLEAR: "Slurm did not answer",
    actions.VOID: "void: Slurm does not show it",
}


def page(view: View, ledger: Ledger, name: str) -> Iterator[str]:
    """Everything about one node: its state, what was done, its runs, its FAILs and whether they stand."""
    status = view.fleet.nodes[name]
    state = status.slurm
    yield f"{name}: {node_states.STATES[status.state]}"
    yield from (f"  {line}" for words in (status.headline, status.cause.reason) for line in broken(words))
    if state is not None:
        known = state.reason_by is not None and state.reason_at is not None
        given = f" [{state.reason_by}, {state.reason_at:%Y-%m-%d %H:%M:%S} UTC]" if known else ""
        yield f"  slurm     {state.words}" + (f", reason '{state.reason}'{given}" if state.reason else "")
        if state.comment:
            yield f"  comment   '{state.comment}'"
    for each in list(of_nodes(ledger, [name]))[-_ACTIONS:]:
        yield f"  {action_line(each, with_node=False)}"
    runs = view.facts.runs.get(name, ())
    for run in sorted(runs, key=lambda run: (run.ended, run.check), reverse=True)[:_RUNS]:
        yield from _run(run)
    for evidence in (*view.facts.open_evidence.get(name, ()), *view.facts.slow.get(name, ())):
        step = view.options.policy.step(evidence.found_by.check, evidence.finding.hard)
        kind = "hard evidence" if evidence.finding.hard else "speed"
        yield f"  FAIL      {evidence.found_by.check} ({kind}; at most: {step}): {evidence.finding.reason}"
        yield f"            {evidence.why}"
    yield from (f"  shared    {fault.words}" for fault in view.fleet.shared if name in fault.nodes)


def check_known(view: View, names: Sequence[str]) -> None:
    """Raise ``NearfarError`` for a node that Slurm does not have, and of which the ledger knows nothing."""
    for name in names:
        if name not in view.fleet.nodes:
            which = f"{name} of system '{view.options.policy.system}'"
            raise NearfarError(f"Slurm has no node {which}, and the ledger knows nothing of it")


def _run(run: CheckRun) -> Iterator[str]:
    """A run, and of one that did not pass what it reported and the file that has it."""
    yield f"  run       {run.run} {run.check:<22} {run.verdict:<13} {second_text(run.ended)}"
    if run.words:
        yield f"            {run.words}"
    if run.source and not passes(run.verdict):
        file = "" if run.check == HEALTH else "/result.json" if run.check == RUN else "/verdict.json"
        yield f"            {run.source}{file}"


def of_nodes(ledger: Ledger, names: Sequence[str], since: float = 0.0) -> Iterator[LedgerAction]:
    """The actions on some nodes (none: on all) since then; calls of ``act`` are left out."""
    for each in actions.actions(ledger, since):
        if each.kind != actions.CALL and (not names or each.node in names):
            yield each


def action_line(each: LedgerAction, with_node: bool = True) -> str:
    """``2026-11-27 05:25:19 n2 drained by root: nearfar: FAIL …``."""
    node = f" {each.node or ''}".rstrip() if with_node else ""
    done = _WORDS.get(each.kind, each.kind)
    if each.kind == actions.ADOPTED and each.check != HEALTH:
        done = "drained by hand"
    outcome = f" ({_OUTCOMES.get(each.outcome, each.outcome)}{': ' + each.error if each.error else ''})"
    outcome = "" if each.outcome == actions.DONE else outcome
    about = each.why if each.kind in actions.RETURNS else "; ".join(filter(None, (each.reason, each.why)))
    return f"{second_text(each.at)}{node} {done}{outcome}, by {each.user}" + (f": {about}" if about else "")


def action_entry(each: LedgerAction) -> dict[str, Any]:
    """An action as JSON."""
    found = {key: value for key, value in vars(each).items() if key not in ("finding", "at", "seen")}
    return {**found, "at": utc_text(each.at), "finding": None if each.finding is None else each.finding.to_raw()}
