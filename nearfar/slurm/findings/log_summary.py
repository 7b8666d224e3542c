"""What the log of ``act`` says of each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from nearfar.site import HEALTH
from nearfar.slurm.results import ResultFinding

from .check_run import CheckRun
from .evidence import Evidence
from .log import Entry

#: Actions after which a node carries a reason of ours.
_DRAINS = ("drain", "drain_again")
#: Actions by which we put a node into use again.
_RELEASES = ("resume", "release")


@dataclass(frozen=True)
class OurDrain:
    """A drain of ours: when, for what (``what`` None: no figure), and whether that was hard evidence (None: the log knows it
    only by a person's word)."""

    at: float
    reason: str
    check: str
    what: str | None
    hard: bool | None


@dataclass(frozen=True)
class LogSummary:
    """What the log says. ``since``: FAILs of speed of a node from before then have been acted on or were voided by a person.

    ``drained``: drains of ours that are known to have been done and not taken back by us; ``begun``: those begun last, of which
    the end is not known. ``drains``: (node, time) of the drains that count against the caps; ``cleared``: when a person said
    that the node was seen to, where that was after its drain. ``quarantines``: retests that did not end, by reservation, with
    what each node is to be drained with again.

    ``evidence``: hard evidence that is open, by node; ``closed``: the keys of what is not; ``answered``: what was known until
    then is closed too, by ``(node,)`` for all of a node, and by ``(node, check, what, code)``. ``others``: when somebody else
    drained a node last; ``resumed``: when one that was drained by us was first seen in use. ``was``: evidence that is closed;
    ``seen``: when one that was drained by us was seen so by a later call, so that slurmctld has kept it.
    """

    since: Mapping[str, float] = field(default_factory=dict)
    drained: Mapping[str, OurDrain] = field(default_factory=dict)
    drains: tuple[tuple[str, float], ...] = ()
    cleared: Mapping[str, float] = field(default_factory=dict)
    latched: str | None = None
    quarantines: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    begun: Mapping[str, OurDrain] = field(default_factory=dict)
    evidence: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)
    closed: frozenset[tuple[str, str, str, str, str | None]] = frozenset()
    answered: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)
    resumed: Mapping[str, float] = field(default_factory=dict)
    was: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)
    seen: Mapping[str, float] = field(default_factory=dict)

    def retested(self, node: str) -> bool:
        """Whether a retest of a node has not ended: who resumed it was this program."""
        return any(node in nodes for nodes in self.quarantines.values())


def summarize(entries: Sequence[Entry], system: str | None = None) -> LogSummary:
    """What the log says; of ``system``, evidence of that alone (two may share a log).

    A drain counts against the caps as soon as it was begun, unless it was refused; a node counts as
    drained or resumed only when that is known to have been done, and evidence as closed only by what closes it."""
    outcomes = {entry.id: entry.outcome for entry in entries}
    reader, read = _LogReader(), set()
    for entry in _in_order(entries):
        others = system is not None and entry.action == "evidence" and entry.more.get("system", system) != system
        if entry.id not in read and outcomes[entry.id] != "refused" and not others:
            reader.read(entry, outcomes[entry.id] == "done")
        read.add(entry.id)
    return reader.past()


def _in_order(entries: Sequence[Entry]) -> list[Entry]:
    """The lines with times that never go back: written while the clock was ahead, a line is as old as the next one at most."""
    latest, found = inf, []
    for entry in reversed(entries):
        latest = min(latest, entry.at)
        found.append(replace(entry, at=latest))
    return found[::-1]


class _LogReader:
    """The state after the lines read so far."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._drained: dict[str, OurDrain] = {}
        self._begun: dict[str, OurDrain] = {}
        self._cleared: dict[str, float] = {}
        self._drains: list[tuple[str, float]] = []
        self._latched: str | None = None
        self._quarantines: dict[str, dict[str, dict[str, Any]]] = {}
        self._evidence: dict[str, list[Evidence]] = {}
        self._was: dict[str, list[Evidence]] = {}
        self._answered: dict[tuple[str, ...], float] = {}
        self._others: dict[str, float] = {}
        self._resumed: dict[str, float] = {}
        self._seen: dict[str, float] = {}

    def past(self) -> LogSummary:
        """What was read, as a value."""
        return LogSummary(
            since=self._since, drained=self._drained, drains=tuple(self._drains), cleared=self._cleared, latched=self._latched,
            quarantines=self._quarantines, begun=self._begun,
            evidence={node: tuple(found) for node, found in self._evidence.items() if found},
            closed=frozenset(one.key for these in self._was.values() for one in these), answered=self._answered,
            others=self._others, resumed=self._resumed, was={node: tuple(these) for node, these in self._was.items()},
            seen=self._seen,
        )  # fmt: skip

    def read(self, entry: Entry, done: bool) -> None:
        if entry.action == "latch":
            self._latched = str(entry.more.get("why", "the cap was reached"))
        elif entry.action == "reset_latch":
            self._latched, self._drains = None, []
        elif entry.action == "quarantine":
            self._quarantines[entry.more["reservation"]] = entry.more["nodes"]
        elif entry.action == "quarantine_over":
            # All are drained or have passed; the reservation may be left.
            self._quarantines[entry.more["reservation"]] = {}
        elif entry.action == "quarantine_end":
            self._quarantines.pop(entry.more["reservation"], None)
        elif entry.node is not None:
            self._of_node(entry.node, entry, done)

    def _of_node(self, node: str, entry: Entry, done: bool) -> None:
        if entry.action in _DRAINS:
            self._drain(node, entry, done)
        elif entry.action in _RELEASES:
            self._since[node] = entry.at
            if done:
                self._drained.pop(node, None)
                self._begun.pop(node, None)
        elif entry.action == "clear":
            self._since[node] = self._cleared[node] = self._answered[(node,)] = entry.at
            self._was.setdefault(node, []).extend(self._evidence.pop(node, []))
            if entry.more.get("reason"):
                self._drained[node] = _drained(entry)  # one that this log did not know
                self._begun.pop(node, None)
        elif entry.action == "evidence":
            self._evidence.setdefault(node, []).append(_recorded(node, entry))
        elif entry.action == "closed":
            self._close(node, entry)
        elif entry.action == "drained_by_others":
            self._others[node] = float(entry.more.get("since", entry.at))
        elif entry.action == "resumed_by_others":
            self._resumed[node] = entry.at
        elif entry.action == "drain_seen":
            self._seen[node] = entry.at

    def _drain(self, node: str, entry: Entry, done: bool) -> None:
        if entry.action == "drain":
            # One that was begun before and never confirmed is the same drain, tried again.
            again = self._begun.get(node)
            self._drains = [each for each in self._drains if again is None or each != (node, again.at)]
            self._drains.append((node, entry.at))
        if done:
            self._drained[node] = _drained(entry)
            self._since[node] = entry.at
            for kept in (self._begun, self._cleared, self._resumed, self._seen):
                kept.pop(node, None)
        else:
            self._begun[node] = _drained(entry)
        self._remember(node, entry)

    def _remember(self, node: str, entry: Entry) -> None:
        """A log from before evidence had lines of its own has it only as a drain's."""
        if not entry.more.get("hard"):
            return
        run, check = str(entry.more.get("run", "")), str(entry.more.get("check"))
        known = (*self._evidence.get(node, ()), *self._was.get(node, ()))
        if (run, check) not in [(one.found_by.run, one.found_by.check) for one in known]:
            self._evidence.setdefault(node, []).append(_recorded(node, entry))

    def _close(self, node: str, entry: Entry) -> None:
        these = set(entry.more.get("evidence", ()))
        for one in self._evidence.get(node, []):
            if one.id in these:
                self._was.setdefault(node, []).append(one)
                if one.found_by.check == HEALTH:  # of which the log has not every look
                    self._answered[answered_key(node, one)] = float(entry.more.get("until", entry.at))
        self._evidence[node] = [one for one in self._evidence.get(node, []) if one.id not in these]


def answered_key(node: str, one: Evidence) -> tuple[str, ...]:
    """The key in ``LogSummary.answered`` of one kind of finding on a node."""
    return (node, *map(str, one.signature))


def _drained(entry: Entry) -> OurDrain:
    more = entry.more
    return OurDrain(entry.at, str(more.get("reason")), str(more.get("check")), more.get("what"), more.get("hard"))


def _recorded(node: str, entry: Entry) -> Evidence:
    more = entry.more
    finding = ResultFinding(
        str(more.get("what") or ""), "FAIL", True, str(more.get("words") or more.get("reason") or ""), more.get("code"), more.get("cell"),
    )  # fmt: skip
    found = CheckRun(
        node=node, check=str(more.get("check")), run=str(more.get("run", "")), started=float(more.get("started", entry.at)),
        ended=float(more.get("ended", entry.at)), verdict="FAIL", failures=(finding,), parts=tuple(more.get("parts", ())),
        source=str(more.get("source", "")), confirmed=str(more.get("confirmed", "")), came=more.get("came"),
    )  # fmt: skip
    return Evidence(found, finding, entry.id)


def log_line(one: Evidence) -> dict[str, Any]:
    """What the log has to say of hard evidence."""
    found, finding = one.found_by, one.finding
    return {
        "check": found.check, "run": found.run, "what": finding.what, "code": finding.code, "cell": finding.cell, "hard": True,
        "words": finding.words, "started": found.started, "ended": found.ended, "came": found.came, "parts": list(found.parts),
        "confirmed": found.confirmed, "source": found.source,
    }  # fmt: skip
