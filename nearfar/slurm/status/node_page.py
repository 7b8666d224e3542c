"""All that is known of one node, and what was done about nodes, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nearfar.base import NearfarError, columns, passes, second_text, utc_text
from nearfar.site import HEALTH
from nearfar.slurm.act import View, node_states
from nearfar.slurm.ledger import RUN, Ledger, LedgerAction, actions

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
    rows = [["why", "", ": ".join(filter(None, (status.headline, status.cause.reason)))]]
    if state is not None:
        given = "" if state.reason_at is None else second_text(state.reason_at.timestamp())
        reason = f", reason '{state.reason}'" if state.reason else ""
        rows.append(["slurm", given, f"{state.words}{reason}{f', by {state.reason_by}' if state.reason_by else ''}"])
        rows += [["comment", "", f"'{state.comment}'"]] if state.comment else []
    done = list(of_nodes(ledger, [name]))[-_ACTIONS:]
    rows += [["done", *action_row(each, with_node=False)] for each in done]
    runs = view.facts.runs.get(name, ())
    for run in sorted(runs, key=lambda run: (run.ended, run.check), reverse=True)[:_RUNS]:
        about = f"{run.run} {run.check} {run.verdict}{': ' if run.words else ''}{run.words}"
        file = "" if run.check == HEALTH else "/result.json" if run.check == RUN else "/verdict.json"
        read = f" ({run.source}{file})" if run.source and not passes(run.verdict) else ""
        rows.append(["run", second_text(run.ended), f"{about}{read}"])
    for evidence in (*view.facts.open_evidence.get(name, ()), *view.facts.slow.get(name, ())):
        found, hard = evidence.found_by, evidence.finding.hard
        step = view.options.policy.step(found.check, hard)
        about = f"{found.check} ({'hard evidence' if hard else 'speed'}; at most: {step}): {evidence.finding.reason}"
        rows.append(["FAIL", second_text(found.known), f"{about}; {evidence.why}"])
    rows += [["shared", "", fault.words] for fault in view.fleet.shared if name in fault.nodes]
    yield from columns(rows)


def check_known(view: View, names: Sequence[str]) -> None:
    """Raise ``NearfarError`` for a node that Slurm does not have, and of which the ledger knows nothing."""
    for name in names:
        if name not in view.fleet.nodes:
            which = f"{name} of system '{view.options.policy.system}'"
            raise NearfarError(f"Slurm has no node {which}, and the ledger knows nothing of it")


def of_nodes(ledger: Ledger, names: Sequence[str], since: float = 0.0) -> Iterator[LedgerAction]:
    """The actions on some nodes (none: on all) since then; calls of ``act`` are left out."""
    for each in actions.actions(ledger, since):
        if each.kind != actions.CALL and (not names or each.node in names):
            yield each


def action_row(each: LedgerAction, with_node: bool = True) -> list[str]:
    """When, which node, and ``drained, by root: nearfar: FAIL …``."""
    done = _WORDS.get(each.kind, each.kind)
    if each.kind == actions.ADOPTED and each.check != HEALTH:
        done = "drained by hand"
    outcome = f" ({_OUTCOMES.get(each.outcome, each.outcome)}{': ' + each.error if each.error else ''})"
    outcome = "" if each.outcome == actions.DONE else outcome
    about = each.why if each.kind in actions.RETURNS else "; ".join(filter(None, (each.reason, each.why)))
    words = f"{done}{outcome}, by {each.user}" + (f": {about}" if about else "")
    return [second_text(each.at), *([each.node or ""] if with_node else []), words]


def action_entry(each: LedgerAction) -> dict[str, Any]:
    """An action as JSON."""
    found = {key: value for key, value in vars(each).items() if key not in ("finding", "at", "seen")}
    return {**found, "at": utc_text(each.at), "finding": None if each.finding is None else each.finding.to_raw()}
