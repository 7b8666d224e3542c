"""The fleet in one table, alike nodes in one line; one node in full; both as JSON; and whether what watches the nodes is alive."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.base import MESSAGES, NearfarError, columns, grouped, minute_text, passes, plural, second_text, utc_text
from nearfar.site import HEALTH
from nearfar.slurm.act import NodeStatus, View, node_states
from nearfar.slurm.controller import NodeState, node_names
from nearfar.slurm.ledger import RUN, Ledger, LedgerAction, actions

#: Seconds after which ``act`` (every five minutes), and a node's health check, are missed.
_MISSED = 3600.0


@dataclass(frozen=True)
class Watchers:
    """When each of them was there last, in seconds since 1970 (None: never); ``problems``: what has stopped, and what to do."""

    acted: float | None
    sweep: float | None
    #: By node, the last health check.
    checked: dict[str, float]
    #: Nodes in use, and how many of them were measured within ``max_age``.
    in_use: int
    measured: int
    problems: tuple[str, ...]

    def line(self, now: float) -> str:
        """``act 2 minutes ago; newest result 5 hours ago; 985 of 1000 nodes in use measured within 36 h``."""
        parts = [f"act {_ago(self.acted, now)}", f"newest result {_ago(self.sweep, now)}"]
        if self.checked:
            parts.append(f"oldest health check {_ago(min(self.checked.values()), now)}")
        return "; ".join([*parts, f"{self.measured} of {plural(self.in_use, 'node')} in use measured lately"])


def watchers(view: View, ledger: Ledger) -> Watchers:
    """What the ledger has of it."""
    system, now, policy = view.options.policy.system, view.now, view.options.policy
    query = "SELECT node, max(known) AS known FROM check_run WHERE system = ? AND check_name = ? GROUP BY node"
    rows = ledger.rows(query, system, HEALTH)
    in_use = {name for name, status in view.fleet.nodes.items() if status.slurm is not None and status.slurm.usable}
    checked = {row["node"]: float(row["known"]) for row in rows if row["node"] in in_use}
    results = view.facts.measured
    measured = {name for name in in_use if now - results.get(name, 0.0) <= policy.max_age}
    return Watchers(
        view.acted, max(results.values(), default=None), checked, len(in_use), len(measured),
        tuple(_problems(view, checked, in_use, measured)),
    )  # fmt: skip


def _problems(view: View, checked: dict[str, float], in_use: set[str], measured: set[str]) -> Iterator[str]:
    now = view.now
    if view.acted is not None and now - view.acted > _MISSED:
        yield f"act has not run for {_span(now - view.acted)}: systemctl status nearfar-act.timer; nearfar slurm doctor"
    # slurmd checks idle nodes; the epilog of a job checks a busy one, and leaves a FAIL alone.
    owe = [name for name in in_use if _idle(view.facts.nodes[name], now)] if checked else []
    silent = [name for name in owe if now - checked.get(name, 0.0) > _MISSED]
    if silent:
        known = [checked[name] for name in silent if name in checked]
        longest = f" for up to {_span(now - min(known))}" if known else ""
        yield f"no health check of {node_names.fold(silent)}{longest}: is HealthCheckProgram set, and slurmd running?"
    if in_use and not measured:
        yield f"no node in use was measured within {_span(view.options.policy.max_age)}: systemctl status nearfar-nightly.timer"


def _idle(node: NodeState, now: float) -> bool:
    """Whether a node has been idle for so long that it owes a health check."""
    return node.idle and now - (node.busy or 0.0) > _MISSED


def _ago(at: float | None, now: float) -> str:
    return "never" if at is None else f"{_span(now - at)} ago"


def _span(seconds: float) -> str:
    """``3 minutes``."""
    for size, unit, least in ((86400, "day", 2), (3600, "hour", 2), (60, "minute", 2)):
        if seconds >= size * least:
            return plural(round(seconds / size), unit)
    return plural(max(0, round(seconds)), "second")


#: Letters of a list of nodes that are shown; the whole list is in the JSON.
_LONGEST = 300


def waits(view: View, watch: Watchers) -> bool:
    """Whether something waits for an administrator."""
    nodes = view.fleet.of_state(*node_states.WAITING) or view.fleet.in_doubt
    unread = view.refused or view.clocks or view.other_systems
    return bool(nodes or unread or watch.problems)


def lines(view: View, watch: Watchers) -> Iterator[str]:
    """The page, line by line."""
    yield f"{view.options.policy.system}, {second_text(view.now)}: {watch.line(view.now)}"
    yield from watch.problems
    yield f"drains: {'; '.join(f'{len(counted)} of {cap.nodes} {when}' for _, when, cap, counted in view.facts.caps().counted)}"
    yield from (f"not blamed on a node: {fault.words}" for fault in view.fleet.shared)
    yield from (*view.refused, *view.clocks, *view.other_systems)
    rows = [
        [state.replace("_", " "), str(len(these)), _since_text(these), ": ".join([_folded(these), *said_of(these)])]
        for state in node_states.STATES
        for these in alike(view.fleet.of_state(state))
    ]
    yield from ("", *columns([["STATE", "NODES", "SINCE", "WHICH, AND WHY"], *rows], right=[1]))


def alike(nodes: Sequence[NodeStatus]) -> list[list[NodeStatus]]:
    """The nodes with the same cause together, alike but for figures, runs and the node's name; who waits longest first."""

    def order(these: list[NodeStatus]) -> tuple[object, ...]:
        since, parts = _since(these), re.split(r"(\d+)", these[0].node)
        return since is None, since or 0.0, [int(part) if part.isdigit() else part for part in parts]

    return sorted(grouped((_alike(node), node) for node in nodes).values(), key=order)


def said_of(these: Sequence[NodeStatus]) -> list[str]:
    """What is to be said of nodes that are alike: what was found, and why they are in their state."""
    first, names = these[0], node_names.fold(node.node for node in these)
    more, cause = "", first.cause
    if len(these) > 1:
        more = f" (and alike on {len(these) - 1} more)" if first.headline else ""
        cause = MESSAGES[cause.code].finding(shlex.quote(names), **cause.fields)
    return [text for text in (f"{first.headline}{more}", cause.reason) if text]


def _alike(node: NodeStatus) -> tuple[object, ...]:
    """What makes two nodes one line: the finding without its figures, and the code of the cause. What others wrote stands for itself."""
    if node.state == node_states.OTHERS:
        return node.cause.code, *sorted(node.cause.fields.items())
    found, ours = node.evidence, node.drained_for
    evidence = None if found is None else (found.found_by.check, found.finding.subject, found.finding.code)
    return node.cause.code, None if ours else evidence, ours and ours.kind, node.held


def _since(these: Sequence[NodeStatus]) -> float | None:
    return min((node.since for node in these if node.since is not None), default=None)


def _since_text(these: Sequence[NodeStatus]) -> str:
    since = _since(these)
    return "" if since is None else minute_text(since)


def _folded(these: Sequence[NodeStatus]) -> str:
    """A list of nodes, cut behind a name where it is long."""
    text = node_names.fold(node.node for node in these)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rpartition(',')[0]},… (all of them: --json)"


def document(view: View, watch: Watchers, names: Sequence[str] = ()) -> dict[str, Any]:
    """``nearfar-slurm-status/2``; ``names``: the nodes that are listed (none: all)."""
    nodes = [view.fleet.nodes[name] for name in names] if names else list(view.fleet.nodes.values())
    return {
        "schema": "nearfar-slurm-status/2", "system": view.options.policy.system, "time": utc_text(view.now), "waits": waits(view, watch),
        "watching": {
            "act": _time(watch.acted), "newest_result": _time(watch.sweep),
            "oldest_health_check": _time(min(watch.checked.values(), default=None)),
            "nodes_in_use": watch.in_use, "nodes_measured": watch.measured, "problems": list(watch.problems),
        },
        "drains": {
            name: {"used": len(counted), "of": cap.nodes, "nodes": sorted(counted)} for name, _, cap, counted in view.facts.caps().counted
        },
        "states": {
            state: {"title": title, "count": len(these), "nodes": node_names.fold(node.node for node in these)}
            for state, title in node_states.STATES.items() for these in [view.fleet.of_state(state)]
        },
        "nodes": [_node_entry(view, node) for node in nodes],
        "shared": [{**vars(fault), "nodes": list(fault.nodes)} for fault in view.fleet.shared],
        "problems": [*view.refused, *view.clocks, *view.other_systems],
    }  # fmt: skip


def _node_entry(view: View, node: NodeStatus) -> Mapping[str, Any]:
    state = node.slurm
    evidence = [
        {"check": found.check, "run": found.run, "known": utc_text(found.known), "finding": each.finding.to_raw()}
        for each in view.facts.open_evidence.get(node.node, ())
        for found in [each.found_by]
    ]
    reason, who = (None, None) if state is None or not state.out else (state.reason, state.reason_by)
    return {
        "node": node.node, "state": node.state, "code": node.cause.code, "why": node.cause.reason, "found": node.headline or None,
        "action": node.action, "held": node.held or None, "since": _time(node.since), "measured": _time(node.measured),
        "slurm": None if state is None else {"state": state.words, "reason": reason, "by": who}, "evidence": evidence,
    }  # fmt: skip


def _time(at: float | None) -> str | None:
    return None if at is None else utc_text(at)


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
        file = f" ({run.source}/{'result' if run.check == RUN else 'verdict'}.json)"
        # A health check's file is gone once act has read it.
        read = "" if run.check == HEALTH or passes(run.verdict) else file
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
