"""What a site's hooks are told of: findings that stand, drains and releases, each with a name of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from nearfar.slurm.act import ActOptions, view
from nearfar.slurm.findings import CheckRun, Entry, Evidence, confirmation, summarize

SCHEMA = "nearfar-hook/1"
#: Lines of the log that are a drain, and those that put a node into use again.
_DRAINS, _RELEASES = ("drain", "drain_again"), ("resume", "release")


@dataclass(frozen=True)
class HookEvent:
    """Something that a hook is told of. ``id`` is the same however often it is told; ``at``: seconds since 1970. ``open``: it is told
    as long as it stands, whenever it began; else only what came after the hook was switched on."""

    hook: str
    id: str
    node: str
    at: float
    more: Mapping[str, Any] = field(default_factory=dict)
    open: bool = False


def findings(seen: view.ActView, options: ActOptions, entries: Sequence[Entry]) -> Iterator[HookEvent]:
    """The findings that stand: hard evidence that is open by the log, and slow figures that are confirmed."""
    past = summarize(entries, options.policy.system)
    judged = {one.key: one for hard in seen.decisions.hard.values() for one in hard.open}
    for node, these in sorted(past.evidence.items()):
        for one in these:
            # The log does not hold why it stands: what this act has found out of it does.
            finding = _finding(judged.get(one.key, one))
            yield HookEvent("on-finding", one.id, node, one.found_by.known, finding, open=True)
    for node, one in slow_figures(seen, options):
        name = sha256("\n".join((options.policy.system, node, *map(str, one.signature))).encode()).hexdigest()[:8]
        yield HookEvent("on-finding", f"slow-{name}", node, one.found_by.known, _finding(one), open=True)


def slow_figures(seen: view.ActView, options: ActOptions) -> Iterator[tuple[str, Evidence]]:
    """The slow figures that may be acted on, with their nodes."""
    by_node: dict[str, list[CheckRun]] = defaultdict(list)
    for run in seen.runs:
        by_node[run.node].append(run)
    for node, runs in sorted(by_node.items()):
        if not any(run.failures for run in runs):
            continue
        for one in confirmation.slow_figures(runs, options.policy, seen.past.since.get(node, 0.0), seen.now):
            if one.stands:
                yield node, one


def _finding(one: Evidence) -> dict[str, Any]:
    found = one.found_by
    return {
        "check": found.check, "run": found.run, "finding": one.finding.to_raw(), "why": one.why or None, "source": found.source
    }  # fmt: skip


def drains_and_releases(entries: Sequence[Entry]) -> Iterator[HookEvent]:
    """Those that the log knows to have been done. A drain of which it has no end counts once a later ``act`` has seen it."""
    ends = {entry.id: entry for entry in entries if entry.outcome != "begun"}
    begins = {entry.id: entry for entry in reversed(entries)}
    begun: dict[str, Entry] = {}
    for entry in entries:
        node = entry.node
        if node is None:
            continue
        end = ends.get(entry.id)
        if entry.action in _DRAINS and entry.outcome == "begun":
            begun.pop(node, None)
            if end is not None and end.outcome == "done":
                yield _drain(entry, node, end.at)
            elif end is None or end.outcome == "unclear":
                begun[node] = entry
        elif entry.action == "drain_seen" and node in begun:
            yield _drain(begun.pop(node), node, entry.at)
        elif entry.action in _RELEASES and entry.outcome == "done":
            first = begins[entry.id].more
            why = first.get("why") or ("its retest passed" if "reservation" in first else None)
            yield HookEvent("on-release", entry.id, node, entry.at, {"by_act": True, "why": why})
        elif entry.action == "resumed_by_others":
            yield HookEvent(
                "on-release", entry.id, node, entry.at, {"by_act": False, "why": "somebody else has resumed it"}
            )


def _drain(entry: Entry, node: str, at: float) -> HookEvent:
    keys = ("reason", "why", "check", "finding", "run", "source")
    return HookEvent("on-drain", entry.id, node, at, {key: entry.more[key] for key in keys if key in entry.more})
