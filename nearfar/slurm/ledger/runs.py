"""Check runs in the ledger, and the FAILs that they hold against nodes: taken in once, and read back for the decisions."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from nearfar.base import Finding, good, grouped, utc_time

from .actions import SeenTo
from .ledger import Ledger

#: Why hard evidence stands.
HARD = "hard evidence needs no second run"
#: The check that stands for cases that should have run and did not.
RUN = "run"


@dataclass(frozen=True)
class CheckRun:
    """One check of one run. Times are seconds since 1970."""

    node: str
    check: str
    run: str
    #: By the node's clock.
    started: float
    ended: float
    verdict: str
    #: Its FAILs that are evidence against the node: of paths that fell together they are none before they have lasted for days.
    failures: tuple[Finding, ...] = ()
    #: The names of the figures that are inside their bounds, and of those among them that were beyond in some measurements.
    passed: frozenset[str] = frozenset()
    intermittent: frozenset[str] = frozenset()
    #: Parts that the diagnosis blames.
    parts: tuple[str, ...] = ()
    #: Where the result lies.
    source: str = ""
    #: Why it is neither PASS nor FAIL.
    words: str = ""
    #: When its file came to be there, by the file system's clock; None: not known.
    came: float | None = None
    system: str = ""
    #: Not kept in the ledger: the cells that were measured, the sweep's level, all findings, worst first, and the judged figures.
    cells: frozenset[str] = frozenset()
    level: str = ""
    findings: tuple[Finding, ...] = ()
    figures: tuple[Any, ...] = ()

    @property
    def known(self) -> float:
        """When what it found was known: when its file came, however the node's clock is set."""
        return self.ended if self.came is None else self.came

    @property
    def began(self) -> float:
        """When it began, by the file system's clock: as long before its file came as it took, however the node's clock is set."""
        return self.known - (self.ended - self.started)

    def clears(self, figure: str | None) -> bool:
        """Whether it passed, and with it a figure (None: what was found is no figure, or is not known)."""
        return good(self.verdict) and (figure is None or figure in self.passed)


def seconds(time: str) -> float:
    """``2026-11-20T09:00:00Z`` in seconds since 1970."""
    return utc_time(time).timestamp()


@dataclass(frozen=True)
class Evidence:
    """A FAIL against a node."""

    found_by: CheckRun
    finding: Finding
    #: Whether it may be acted on, and what confirms it, or what is missing.
    stands: bool = False
    why: str = ""
    #: When it was closed, in seconds since 1970; infinite as long as it is open.
    closed_at: float = inf

    @property
    def metric(self) -> tuple[str, str, bool]:
        """What it has in common with other nodes' evidence: check, metric without the parts' numbers, whether it is hard."""
        return self.found_by.check, general(self.finding.subject), self.finding.hard

    @property
    def severity(self) -> tuple[bool, float, str, str]:
        """Worst first: hard evidence, then by how far the figure is from its limit."""
        finding, gap = self.finding, 0.0
        value, limit = finding.fields.get("value"), finding.fields.get("limit")
        if value is not None and limit:
            ratio = abs(value / limit)
            gap = ratio if ratio < 1 else 1 / ratio
        return not finding.hard, gap, self.found_by.check, finding.subject


def general(what: str) -> str:
    """A metric's name without the numbers of the parts: ``near.n0_g1`` and ``near.n1_g3`` are both ``near.n_g``."""
    return re.sub(r"(?<![A-Za-z])([a-z])\d+", r"\1", what)


#: Values that a statement of SQLite takes at most are 32,766; nodes are asked for in parts.
_PART = 10_000
#: Hard evidence, with the run that found it: open from that on until an action closes it.
_HARD = (
    "SELECT document, closed_at, check_run.* "
    "FROM finding JOIN check_run ON check_run.id = finding.check_run WHERE hard AND system = ?"
)


class LastVerdict(NamedTuple):
    """The newest run of a check on a node."""

    check: str
    run: str
    verdict: str
    words: str
    known: float


def add_run(ledger: Ledger, run: CheckRun, *, answered: SeenTo | None = None) -> None:
    """Take in a check run, unless it is there already. ``answered``: the action that has seen to the node last: what a run that began
    before it found is closed by it. Hard evidence of a health check that is open already is not entered again: its ``last_seen`` is."""
    number = ledger.write(
        "INSERT OR IGNORE INTO check_run VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        run.node, run.check, run.run, run.system, run.started, run.ended, run.came, run.known, run.began, run.verdict, run.words,
        json.dumps(run.parts), run.source, json.dumps(sorted(run.passed)), json.dumps(sorted(run.intermittent)),
    )  # fmt: skip
    if not ledger.rows("SELECT changes() AS count")[0]["count"]:
        return
    for finding in run.failures:
        if run.check == "health" and finding.hard and _seen_again(ledger, run, finding):
            continue
        until = -inf if answered is None else answered.jobs if run.check != "health" else answered.at
        closed = (answered.seq, answered.at) if answered is not None and run.began <= until else (None, None)
        ledger.write(
            "INSERT INTO finding VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            number, run.node, run.check, finding.subject, finding.code, finding.hard, json.dumps(finding.to_raw()), run.known, *closed,
        )  # fmt: skip


def _seen_again(ledger: Ledger, run: CheckRun, finding: Finding) -> bool:
    open_ = ledger.rows(
        "SELECT id FROM finding WHERE hard AND closed_by IS NULL AND node = ? AND check_name = ? AND subject = ? AND code = ?",
        run.node, run.check, finding.subject, finding.code,
    )  # fmt: skip
    for row in open_:
        ledger.write("UPDATE finding SET last_seen = max(last_seen, ?) WHERE id = ?", run.known, row["id"])
    return bool(open_)


def runs_since(ledger: Ledger, system: str, oldest: float, nodes: Collection[str]) -> dict[str, list[CheckRun]]:
    """The check runs of some nodes that were known since ``oldest``, by node, with their FAILs."""
    names, found = sorted(nodes), list[CheckRun]()
    for part in (names[start : start + _PART] for start in range(0, len(names), _PART)):
        query = f"known >= ? AND system = ? AND node IN ({','.join('?' * len(part))})"
        rows = ledger.rows(f"SELECT * FROM check_run WHERE {query}", oldest, system, *part)
        documents = ledger.rows(
            f"SELECT check_run, document FROM finding WHERE check_run IN (SELECT id FROM check_run WHERE {query})",
            oldest, system, *part,
        )  # fmt: skip
        failures = grouped((row["check_run"], Finding.from_raw(json.loads(row["document"]))) for row in documents)
        found += [_check_run(row, failures.get(row["id"], ())) for row in rows]
    return grouped((run.node, run) for run in found)


_SAME = ("node", "run", "started", "ended", "verdict", "source", "words", "came", "system")


def _check_run(row: sqlite3.Row, failures: Iterable[Finding]) -> CheckRun:
    same: dict[str, Any] = {key: row[key] for key in _SAME}
    parts, passed, intermittent = (json.loads(row[key]) for key in ("parts", "passed", "intermittent"))
    return CheckRun(
        check=row["check_name"], failures=tuple(failures), parts=tuple(parts), passed=frozenset(passed),
        intermittent=frozenset(intermittent), **same,
    )  # fmt: skip


def slow_nodes(ledger: Ledger, system: str, since: float) -> set[str]:
    """The nodes of which a run that was known since then found a slow figure."""
    query = (
        "SELECT DISTINCT finding.node AS node FROM finding JOIN check_run ON check_run.id = check_run "
        "WHERE NOT hard AND system = ? AND known >= ?"
    )
    return {row["node"] for row in ledger.rows(query, system, since)}


def last_verdicts(ledger: Ledger, system: str, since: float) -> dict[str, list[LastVerdict]]:
    """The newest run of each check on each node that was known since then, by node."""
    query = (
        "SELECT node, check_name, run, verdict, words, max(known) AS known FROM check_run "
        "WHERE system = ? AND known >= ? GROUP BY node, check_name"
    )
    return grouped((node, LastVerdict(*verdict)) for node, *verdict in ledger.rows(query, system, since))


def last_measured(ledger: Ledger, system: str) -> dict[str, float]:
    """When the newest run that measured each node was known; health checks measure nothing."""
    query = (
        "SELECT node, max(known) AS known FROM check_run "
        "WHERE system = ? AND check_name NOT IN ('health', ?) GROUP BY node"
    )
    return {row["node"]: row["known"] for row in ledger.rows(query, system, RUN)}


def evidence_in(ledger: Ledger, system: str, since: float = inf) -> dict[str, list[Evidence]]:
    """All hard evidence that is open, or was known since then, by node, worst first."""
    found = []
    for row in ledger.rows(f"{_HARD} AND (closed_by IS NULL OR known >= ?)", system, since):
        finding = Finding.from_raw(json.loads(row["document"]))
        closed = inf if row["closed_at"] is None else float(row["closed_at"])
        found.append(Evidence(_check_run(row, (finding,)), finding, stands=True, why=HARD, closed_at=closed))
    return grouped((each.found_by.node, each) for each in sorted(found, key=lambda each: each.severity))


def close_findings(ledger: Ledger, node: str, action: int, until: float, at: float) -> int:
    """Close the open hard evidence of a node that was known ``until`` then, by an action; how many findings that were."""
    query = (
        "UPDATE finding SET closed_by = ?, closed_at = ? WHERE node = ? AND hard AND closed_by IS NULL "
        "AND (SELECT known FROM check_run WHERE check_run.id = finding.check_run) <= ?"
    )
    ledger.write(query, action, at, node, until)
    return int(ledger.rows("SELECT changes() AS count")[0]["count"])
