"""What the log of ``act`` says of each node: its lines replayed, and held against what Slurm shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from nearfar.site import HEALTH
from nearfar.slurm.controller import NodeState
from nearfar.slurm.results import ResultFinding

from . import reasons
from .check_run import CheckRun, LogSummary, OurDrain, RecordedEvidence
from .log import Entry

#: Actions after which a node carries a reason of ours.
_DRAINS = ("drain", "drain_again")
#: Actions by which we put a node into use again.
_RELEASES = ("resume", "release")
#: Seconds that slurmctld may take to save a change (SAVE_MAX_WAIT is 5): what it was told just before it was killed is lost.
SAVED = 15.0


def past(entries: Sequence[Entry], system: str | None = None) -> LogSummary:
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
        self._evidence: dict[str, list[RecordedEvidence]] = {}
        self._was: dict[str, list[RecordedEvidence]] = {}
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
        if (run, check) not in [(one.found.run, one.found.check) for one in known]:
            self._evidence.setdefault(node, []).append(_recorded(node, entry))

    def _close(self, node: str, entry: Entry) -> None:
        these = set(entry.more.get("evidence", ()))
        for one in self._evidence.get(node, []):
            if one.id in these:
                self._was.setdefault(node, []).append(one)
                if one.found.check == HEALTH:  # of which the log has not every look
                    self._answered[answered_kind(node, one)] = float(entry.more.get("until", entry.at))
        self._evidence[node] = [one for one in self._evidence.get(node, []) if one.id not in these]


def answered_kind(node: str, one: RecordedEvidence) -> tuple[str, ...]:
    """The key in ``LogSummary.answered`` of one kind of finding on a node."""
    return (node, *map(str, one.kind))


def _drained(entry: Entry) -> OurDrain:
    more = entry.more
    return OurDrain(entry.at, str(more.get("reason")), str(more.get("check")), more.get("what"), more.get("hard"))


def _recorded(node: str, entry: Entry) -> RecordedEvidence:
    more = entry.more
    finding = ResultFinding(
        str(more.get("what") or ""), "FAIL", True, str(more.get("words") or more.get("reason") or ""), more.get("code"), more.get("cell"),
    )  # fmt: skip
    found = CheckRun(
        node=node, check=str(more.get("check")), run=str(more.get("run", "")), started=float(more.get("started", entry.at)),
        ended=float(more.get("ended", entry.at)), verdict="FAIL", failures=(finding,), parts=tuple(more.get("parts", ())),
        source=str(more.get("source", "")), confirmed=str(more.get("confirmed", "")), came=more.get("came"),
    )  # fmt: skip
    return RecordedEvidence(entry.id, found, finding)


def line_of(one: RecordedEvidence) -> dict[str, Any]:
    """What the log has to say of hard evidence."""
    found, finding = one.found, one.finding
    return {
        "check": found.check, "run": found.run, "what": finding.what, "code": finding.code, "cell": finding.cell, "hard": True,
        "words": finding.words, "started": found.started, "ended": found.ended, "came": found.came, "parts": list(found.parts),
        "confirmed": found.confirmed, "source": found.source,
    }  # fmt: skip


@dataclass(frozen=True)
class SlurmView:
    """What Slurm shows: its nodes, and when slurmctld was started (asked for only where it matters)."""

    nodes: Mapping[str, NodeState]
    controller_started: Callable[[], float | None]


def settled(before: LogSummary, shown: SlurmView) -> LogSummary:
    """The past, with drains of which the log does not know the end settled by what the nodes show.

    One that was begun counts as done where the node shows it; where it does not, its evidence is still to be acted on. The same
    holds for one that was done, that no later call has seen, and that a slurmctld which was started since does not know: it was
    killed before it had saved it.
    """
    drained, since = dict(before.drained), dict(before.since)
    for node, begun in before.begun.items():
        state = shown.nodes.get(node)
        # Its reason, in use or not: from Slurm 25 on a node that was resumed since keeps it.
        if state is not None and _carries(state, begun):
            drained[node] = begun
            since[node] = max(since.get(node, begun.at), begun.at)
    in_use = [node for node in drained if node in shown.nodes and not shown.nodes[node].out and node not in before.seen]
    doubtful = [node for node in in_use if not _carries(shown.nodes[node], drained[node])]
    started = shown.controller_started() if doubtful else None
    for node in doubtful:
        if started is not None and started >= drained[node].at - 1:
            if since.get(node) == drained[node].at:
                del since[node]
            del drained[node]
    return replace(before, drained=drained, since=since)


def kept(nodes: Mapping[str, NodeState], before: LogSummary, now: float) -> Iterator[str]:
    """Nodes that show a drain of ours which is old enough to have been saved: what the log does not say yet."""
    for node, drain in before.drained.items():
        state = nodes.get(node)
        if (
            state is not None
            and state.drain
            and node not in before.seen
            and now - drain.at > SAVED
            and _carries(state, drain)
        ):
            yield node


def _carries(state: NodeState, drain: OurDrain) -> bool:
    ours = reasons.find(state.reason)
    return ours is not None and ours.same(reasons.find(drain.reason))
