"""What was done about nodes: written down before it is done, and how it ended after."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from nearfar.base import Finding, user_name

from .ledger import Ledger

#: After these a node carries a drain of ours; ADOPTED is one that a node's own health check began.
DRAIN, ADOPTED, DRAIN_AGAIN = "drain", "adopted", "drain_again"
#: These put it into use: a passed retest, an administrator's ``clear``, an administrator's ``scontrol update state=resume``.
RELEASE, CLEAR, RESUMED = "release", "clear", "resumed"
#: The drain of ours was replaced by another, and that was taken back: nobody has seen to the node.
LAPSED = "lapsed"
#: Of a retest: a node resumed inside its reservation, and drained as it was before.
RETEST, DRAIN_AS_BEFORE = "retest", "drain_as_before"
CALL, TAKE_OVER = "call", "take_over"
DRAINS, RETURNS = (DRAIN, ADOPTED, DRAIN_AGAIN), (RELEASE, CLEAR, RESUMED)
BEGUN, DONE, REFUSED, UNCLEAR, VOID = "begun", "done", "refused", "unclear", "void"


@dataclass(frozen=True)
class LedgerAction:
    """A row of the table of that name."""

    seq: int
    at: float
    kind: str
    node: str | None
    outcome: str = DONE
    reason: str | None = None
    why: str | None = None
    check: str | None = None
    run: str | None = None
    finding: Finding | None = None
    reservation: str | None = None
    error: str | None = None
    #: When Slurm last showed a drain; None: never.
    seen: float | None = None
    user: str = ""
    host: str = ""

    @property
    def figure(self) -> str | None:
        """The name of the figure that the node was drained for; None: for none, or it is not known."""
        return self.finding.subject if self.finding is not None and "value" in self.finding.fields else None


class SeenTo(NamedTuple):
    """An action that has seen to a node. What health checks found until ``at`` is answered by it, and what runs of jobs found that began
    until ``jobs``: a node that was seen drained then has run none before it was resumed."""

    seq: int
    at: float
    jobs: float


@dataclass(frozen=True)
class Past:
    """What the actions say of all nodes."""

    #: Drains that nothing has ended, or that were begun and whose end is not known, by node.
    drained: Mapping[str, LedgerAction] = field(default_factory=dict)
    #: When each node was drained by us last, whether or not it is in use again.
    drained_at: Mapping[str, float] = field(default_factory=dict)
    #: When each node was drained by us since it was cleared last, once for each time that it had been in use.
    drains: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    #: By which action each node was put into use or seen to last: what began before is answered.
    answered: Mapping[str, SeenTo] = field(default_factory=dict)
    #: Nodes that a passed retest has put into use last.
    released: frozenset[str] = frozenset()
    #: When slow figures of a node were acted on or answered last: those of runs that began before do not count.
    since: Mapping[str, float] = field(default_factory=dict)
    #: Retests that have not ended: by reservation, what each node is drained with again.
    retests: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def retested(self) -> dict[str, str]:
        """The reservation in which each node is retested."""
        return {node: name for name, nodes in self.retests.items() for node in nodes}


def end_action(ledger: Ledger, seq: int, outcome: str, error: str | None = None) -> None:
    """Write down how an action ended."""
    ledger.write("UPDATE action SET outcome = ?, error = ? WHERE seq = ?", outcome, error, seq)


def note_action(ledger: Ledger, kind: str, at: float, node: str | None = None, outcome: str = DONE, **more: Any) -> int:
    """Write down an action: one that needs nothing more of Slurm, or that begins (``BEGUN``); its number."""
    finding = more.get("finding")
    user = more.get("user") or os.environ.get("SUDO_USER") or user_name(os.geteuid())
    return ledger.write(
        "INSERT INTO action VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        at, kind, node, outcome, more.get("reason"), more.get("why"), more.get("check"), more.get("run"),
        None if finding is None else json.dumps(finding.to_raw()), more.get("reservation"), more.get("error"), more.get("seen"),
        user, socket.gethostname(), more.get("system"),
    )  # fmt: skip


def action(row: sqlite3.Row) -> LedgerAction:
    """The action of a row."""
    values = dict(row) | {"finding": row["finding"] and Finding.from_raw(json.loads(row["finding"]))}
    del values["system"]
    return LedgerAction(check=values.pop("check_name"), **values)


def actions(ledger: Ledger, since: float = 0.0, *kinds: str) -> list[LedgerAction]:
    """The actions since then, in their order; of some kinds alone, where they are named."""
    return [action(row) for row in _rows(ledger, since, *kinds)]


def _rows(ledger: Ledger, since: float, *kinds: str) -> list[sqlite3.Row]:
    which = f" AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
    return ledger.rows(f"SELECT * FROM action WHERE at >= ?{which} ORDER BY seq", since, *kinds)


def past(ledger: Ledger, now: float) -> Past:
    """What all actions say. What was written while the clock was ahead counts as of ``now``."""
    drained: dict[str, sqlite3.Row] = {}
    drained_at: dict[str, float] = {}
    drains: dict[str, list[float]] = defaultdict(list)
    answered: dict[str, SeenTo] = {}
    since: dict[str, float] = {}
    in_use: set[str] = set()
    released: set[str] = set()
    for row in _rows(ledger, 0.0, *DRAINS, *RETURNS, LAPSED):
        node, at, kind = str(row["node"]), min(row["at"], now), row["kind"]
        if kind in DRAINS:
            if row["outcome"] not in (BEGUN, UNCLEAR, DONE):
                continue
            drained[node] = row
            if row["outcome"] != DONE:
                continue
            since[node] = at
            if kind != DRAIN_AGAIN:
                drained_at[node] = at
                drains[node] = [*(drains[node] if node in in_use else drains[node][:-1]), at]
            in_use.discard(node)
        elif row["outcome"] == DONE:
            drained.pop(node, None)
            in_use.add(node)
            if kind == LAPSED:
                continue
            (released.add if kind == RELEASE else released.discard)(node)
            until = at if row["seen"] is None else min(row["seen"], at)
            answered[node] = SeenTo(row["seq"], until if kind == RELEASE else at, until)
            since[node] = until
            if kind == CLEAR:
                drains.pop(node, None)
    retests = {
        row["reservation"]: json.loads(row["nodes"]) for row in ledger.rows("SELECT * FROM retest WHERE ended IS NULL")
    }
    return Past(
        {node: replace(action(row), at=min(row["at"], now)) for node, row in drained.items()}, drained_at,
        {node: tuple(times) for node, times in drains.items()}, answered, frozenset(released), since, retests,
    )  # fmt: skip
