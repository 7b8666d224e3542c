"""What the log of ``act`` says of each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from nearfar.base import Finding
from nearfar.site import HEALTH

from .check_run import CheckRun
from .evidence import Evidence
from .flaps import Flaps
from .log import Entry

#: Actions after which a node carries a reason of ours.
_DRAINS = ("drain", "drain_again")
_DAY = 86400.0
#: Actions by which we put a node into use again.
_RELEASES = ("resume", "release")
#: Lines of which a call reads those of its own system alone.
_OF_SYSTEM = ("evidence", "held", "held_over")


@dataclass(frozen=True)
class OurDrain:
    """A drain of ours: when, and for what (``finding`` None: the log knows it only by a person's word)."""

    at: float
    reason: str
    check: str
    finding: Finding | None

    @property
    def figure(self) -> str | None:
        """The name of the figure that it was drained for; None: for none, or it is not known."""
        return self.finding.subject if self.finding is not None and "value" in self.finding.fields else None

    @property
    def hard(self) -> bool | None:
        """Whether it was drained for hard evidence; None: not known."""
        return None if self.finding is None else self.finding.hard


@dataclass
class LogSummary:
    """What the log says, by node. ``since``: FAILs of speed from before then have been acted on or were voided by a person.

    ``drained``: drains of ours that are known to have been done and not taken back by us; ``begun``: those begun last, of which
    the end is not known. ``drains``: (node, time) of the drains that count against the caps; ``stopped``: why no more may
    follow until a person allows them. ``cleared``: when a person said that the node was seen to, where that was after its drain.
    ``quarantines``: retests that did not end, by reservation, with what each node is to be drained with again;
    ``ended_quarantines``: all retests, with that of the nodes that are not in use again by our doing.

    ``put_right``: when a person said last that the node was seen to, or it was put into use again after it passed: what was
    slow before is closed. ``evidence``: hard evidence that is open; ``closed_evidence``: what is not; ``answered``: what was
    known until then is closed too, by ``(node,)`` for all of a node, and by ``(node, check, what, code)``.
    ``drained_by_others``: when somebody else drained it last; ``back_in_use``: by when such a one was in use again;
    ``resumed_by_others``: by when one that was drained by us was; ``drain_seen``: when one that was drained by us
    was seen so by a later call, so that slurmctld has kept it; ``rebooted``: the last boot of one that was drained by us or
    suspect. ``flaps``: how often each was drained; ``died``, ``up_again``: when one that is drained by us stopped answering, and
    when it answered again. ``held``: nodes that are not drained for what was found, by what holds them.
    """

    since: dict[str, float] = field(default_factory=dict)
    drained: dict[str, OurDrain] = field(default_factory=dict)
    drains: list[tuple[str, float]] = field(default_factory=list)
    cleared: dict[str, float] = field(default_factory=dict)
    stopped: str | None = None
    quarantines: dict[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    ended_quarantines: dict[str, dict[str, Mapping[str, Any]]] = field(default_factory=dict)
    begun: dict[str, OurDrain] = field(default_factory=dict)
    put_right: dict[str, float] = field(default_factory=dict)
    evidence: dict[str, list[Evidence]] = field(default_factory=dict)
    closed_evidence: dict[str, list[Evidence]] = field(default_factory=dict)
    answered: dict[tuple[str, ...], float] = field(default_factory=dict)
    drained_by_others: dict[str, float] = field(default_factory=dict)
    back_in_use: dict[str, float] = field(default_factory=dict)
    resumed_by_others: dict[str, float] = field(default_factory=dict)
    drain_seen: dict[str, float] = field(default_factory=dict)
    rebooted: dict[str, float] = field(default_factory=dict)
    flaps: Flaps = field(default_factory=Flaps)
    died: dict[str, float] = field(default_factory=dict)
    up_again: dict[str, float] = field(default_factory=dict)
    held: dict[str, frozenset[str]] = field(default_factory=dict)

    def dead(self, node: str) -> bool:
        """Whether a node that was drained by us was told to have died, and not to be up again."""
        return node in self.died and self.up_again.get(node, 0.0) < self.died[node]

    def drained_today(self, now: float) -> set[str]:
        """The nodes whose drains of the last 24 hours count against the cap of a day; each once, however often it was begun."""
        return {node for node, at in self.drains if now - at < _DAY}

    def retested(self, node: str) -> bool:
        """Whether a retest of a node has not ended: who resumed it was this program."""
        return any(node in nodes for nodes in self.quarantines.values())


def summarize(entries: Sequence[Entry], system: str | None = None, now: float = inf) -> LogSummary:
    """What the log says at ``now``; of ``system``, what was found and held of that alone (two may share a log).

    A drain counts against the caps as soon as it was begun, unless it was refused; a node counts as
    drained or resumed only when that is known to have been done, and evidence as closed only by what closes it."""
    outcomes = {entry.id: entry.outcome for entry in entries}
    summary, read = LogSummary(), set()
    for entry in _in_order(entries, now):
        others = system is not None and entry.action in _OF_SYSTEM and entry.more.get("system", system) != system
        if entry.id not in read and outcomes[entry.id] != "refused" and not others:
            _read(summary, entry, outcomes[entry.id] == "done")
        read.add(entry.id)
    summary.evidence = {node: found for node, found in summary.evidence.items() if found}
    return summary


def _in_order(entries: Sequence[Entry], now: float) -> list[Entry]:
    """The lines with times that never go back: written while the clock was ahead, a line is as old as the next one at most, the last
    as old as now."""
    latest, found = now, []
    for entry in reversed(entries):
        latest = min(latest, entry.at)
        found.append(replace(entry, at=latest))
    return found[::-1]


def _read(summary: LogSummary, entry: Entry, done: bool) -> None:
    """Take over a line. A stop of drains is called ``latch`` in the log."""
    if entry.action == "latch":
        summary.stopped = str(entry.more.get("why", "the cap was reached"))
    elif entry.action == "reset_latch":
        summary.stopped, summary.drains = None, []
    elif entry.action == "quarantine":
        summary.quarantines[entry.more["reservation"]] = entry.more["nodes"]
        summary.ended_quarantines[entry.more["reservation"]] = dict(entry.more["nodes"])
    elif entry.action == "quarantine_over":
        # All are drained or have passed; the reservation may be left.
        summary.quarantines[entry.more["reservation"]] = {}
        for node in entry.more.get("passed", ()):
            _released(summary, node, entry, done=True)
    elif entry.action == "quarantine_end":
        summary.quarantines.pop(entry.more["reservation"], None)
    elif entry.action in ("held", "held_over"):
        cause, nodes = str(entry.more["cause"]), frozenset(entry.more["nodes"])
        before = summary.held.pop(cause, frozenset())
        now = before | nodes if entry.action == "held" else before - nodes
        summary.held |= {cause: now} if now else {}
    elif entry.node is not None:
        _read_of_node(summary, entry.node, entry, done)


def _read_of_node(summary: LogSummary, node: str, entry: Entry, done: bool) -> None:
    if entry.action in _DRAINS:
        _drain(summary, node, entry, done)
    elif entry.action in _RELEASES:
        _released(summary, node, entry, done)
    elif entry.action == "clear":
        _seen_to(summary, node, entry.at)
        if entry.more.get("reason"):
            summary.drained[node] = _drained(entry)  # one that this log did not know
            summary.begun.pop(node, None)
    elif entry.action == "evidence":
        summary.evidence.setdefault(node, []).append(_recorded(node, entry))
    elif entry.action == "closed":
        _close(summary, node, entry)
    elif entry.action == "drained_by_others":
        summary.drained_by_others[node] = float(entry.more.get("since", entry.at))
        summary.back_in_use.pop(node, None)
    elif entry.action == "back_in_use":
        summary.back_in_use[node] = float(entry.more.get("since", entry.at))
    elif entry.action == "resumed_by_others":
        summary.resumed_by_others[node] = float(entry.more.get("since", entry.at))
        summary.flaps.resumed(node)
    elif entry.action == "rebooted":
        summary.rebooted[node] = float(entry.more.get("booted", entry.at))
    elif entry.action in ("drain_seen", "died", "up_again"):
        getattr(summary, entry.action)[node] = entry.at


def _seen_to(summary: LogSummary, node: str, at: float) -> None:
    """A person has seen to a node: all that was known of it is closed."""
    summary.since[node] = summary.cleared[node] = summary.answered[(node,)] = summary.put_right[node] = at
    closed = [replace(one, closed_at=at) for one in summary.evidence.pop(node, [])]
    summary.closed_evidence.setdefault(node, []).extend(closed)
    summary.flaps.seen_to(node)


def _released(summary: LogSummary, node: str, entry: Entry, done: bool) -> None:
    summary.since[node] = entry.at
    for nodes in summary.ended_quarantines.values():
        nodes.pop(node, None)
    if done:
        summary.put_right[node] = entry.at
        summary.drained.pop(node, None)
        summary.begun.pop(node, None)
        summary.flaps.resumed(node)
        if entry.action == "release" and "reservation" not in entry.more:
            _seen_to(summary, node, entry.at)  # on a person's word, not by a retest


def _drain(summary: LogSummary, node: str, entry: Entry, done: bool) -> None:
    if entry.action == "drain":
        # One that was begun before and never confirmed is the same drain, tried again.
        again = summary.begun.get(node)
        summary.drains = [each for each in summary.drains if again is None or each != (node, again.at)]
        summary.drains.append((node, entry.at))
        summary.flaps.drained(node, entry.at)
    if done:
        summary.drained[node] = _drained(entry)
        summary.since[node] = entry.at
        summary.begun.pop(node, None)
        for times in (summary.cleared, summary.resumed_by_others, summary.drain_seen, summary.died, summary.up_again):
            times.pop(node, None)
    else:
        summary.begun[node] = _drained(entry)


def _close(summary: LogSummary, node: str, entry: Entry) -> None:
    ids, at = set(entry.more.get("evidence", ())), float(entry.more.get("passed", entry.at))
    for one in summary.evidence.get(node, []):
        if one.id in ids:
            summary.closed_evidence.setdefault(node, []).append(replace(one, closed_at=at))
            if one.found_by.check == HEALTH:  # of which the log has not every look
                summary.answered[answered_key(node, one)] = float(entry.more.get("until", entry.at))
    summary.evidence[node] = [one for one in summary.evidence.get(node, []) if one.id not in ids]


def answered_key(node: str, one: Evidence) -> tuple[str, ...]:
    """The key in ``LogSummary.answered`` of one kind of finding on a node."""
    return (node, *map(str, one.signature))


def _drained(entry: Entry) -> OurDrain:
    more = entry.more
    finding = Finding.from_raw(more["finding"]) if more.get("finding") else None
    return OurDrain(entry.at, str(more.get("reason")), str(more.get("check")), finding)


def _recorded(node: str, entry: Entry) -> Evidence:
    more = entry.more
    finding = Finding.from_raw(more["finding"])
    found = CheckRun(
        node=node, check=str(more.get("check")), run=str(more.get("run", "")), started=float(more.get("started", entry.at)),
        ended=float(more.get("ended", entry.at)), verdict="FAIL", failures=(finding,), parts=tuple(more.get("parts", ())),
        source=str(more.get("source", "")), confirmed=str(more.get("confirmed", "")), came=more.get("came"),
    )  # fmt: skip
    return Evidence(found, finding, entry.id)


def log_line(one: Evidence) -> dict[str, Any]:
    """What the log has to say of hard evidence."""
    found = one.found_by
    return {
        "check": found.check, "run": found.run, "finding": one.finding.to_raw(), "started": found.started, "ended": found.ended,
        "came": found.came, "parts": list(found.parts),
        "confirmed": found.confirmed, "source": found.source,
    }  # fmt: skip
