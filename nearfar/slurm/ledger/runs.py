"""Check runs in the ledger: taken in once, and read back for the decisions."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import Any, NamedTuple

from nearfar.base import Finding

from .actions import SeenTo
from .check_run import RUN, CheckRun, Evidence
from .ledger import Ledger

#: A figure of a run: its verdict (``PASS``, ``INTERMITTENT``, else as its finding's), value and bounds in ``unit``.
FigureEntry = tuple[str, float | None, float | None, float | None, str]
#: Values that a statement of SQLite takes at most are 32,766; nodes are asked for in parts.
_PART = 10_000
#: Hard evidence, with the run that found it: open from that on until an action closes it.
_HARD = (
    "SELECT finding.id AS finding_id, document, closed_at, check_run.* "
    "FROM finding JOIN check_run ON check_run.id = finding.check_run WHERE hard AND system = ?"
)


class LastVerdict(NamedTuple):
    """The newest run of a check on a node."""

    node: str
    check: str
    run: str
    verdict: str
    words: str
    known: float
    source: str


def add_run(
    ledger: Ledger, run: CheckRun, figures: Mapping[str, FigureEntry] | None = None, *, answered: SeenTo | None = None
) -> bool:
    """Take in a check run; False where it is there already. ``figures``: by name; None: those of ``run.passed`` without numbers.
    ``answered``: the action that has seen to the node last: what a run that began before it found is closed by it.

    Hard evidence of a health check that is open already is not entered again: its ``last_seen`` is.
    """
    number = ledger.write(
        "INSERT OR IGNORE INTO check_run VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        run.node, run.check, run.run, run.system, run.sweep, run.level, run.job, run.started, run.ended, run.came, run.known, run.began,
        run.verdict, run.words, json.dumps(run.parts), run.confirmed, run.source,
    )  # fmt: skip
    if not ledger.rows("SELECT changes() AS count")[0]["count"]:
        return False
    if figures is None:
        figures = {
            name: ("INTERMITTENT" if name in run.intermittent else "PASS", None, None, None, "")
            for name in {*run.passed, *run.intermittent}
        }
    names = _name_ids(ledger, figures)
    ledger.connection.executemany(
        "INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(number, names[name], *entry) for name, entry in figures.items()],
    )
    for finding in run.failures:
        if run.check == "health" and finding.hard and _seen_again(ledger, run, finding):
            continue
        until = -inf if answered is None else answered.jobs if run.check != "health" else answered.at
        closed = (answered.seq, answered.at) if answered is not None and run.began <= until else (None, None)
        ledger.write(
            "INSERT INTO finding VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            number, run.node, run.check, finding.subject, finding.code, finding.hard, json.dumps(finding.to_raw()), run.known, *closed,
        )  # fmt: skip
    return True


def _seen_again(ledger: Ledger, run: CheckRun, finding: Finding) -> bool:
    open_ = ledger.rows(
        "SELECT id FROM finding WHERE hard AND closed_by IS NULL AND node = ? AND check_name = ? AND subject = ? AND code = ?",
        run.node, run.check, finding.subject, finding.code,
    )  # fmt: skip
    for row in open_:
        ledger.write("UPDATE finding SET last_seen = max(last_seen, ?) WHERE id = ?", run.known, row["id"])
    return bool(open_)


def _name_ids(ledger: Ledger, names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = ledger.__dict__.setdefault("_names", {})
    for name in names:
        if name not in found:
            ledger.write("INSERT OR IGNORE INTO figure_name VALUES (NULL, ?)", name)
            found[name] = ledger.rows("SELECT id FROM figure_name WHERE name = ?", name)[0]["id"]
    return found


def runs_since(ledger: Ledger, system: str, oldest: float, nodes: Collection[str]) -> dict[str, list[CheckRun]]:
    """The check runs of some nodes that were known since ``oldest``, by node, with their figures and FAILs."""
    found: dict[str, list[CheckRun]] = defaultdict(list)
    where = "known >= ? AND system = ? AND node IN (%s)"
    for part in _parts(nodes):
        query = where % ",".join("?" * len(part))
        rows = ledger.rows(f"SELECT * FROM check_run WHERE {query}", oldest, system, *part)
        named: dict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for row in ledger.rows(
            "SELECT check_run, figure_name.name AS name, figure.verdict AS verdict "
            f"FROM figure JOIN figure_name ON figure_name.id = figure.name WHERE check_run IN (SELECT id FROM check_run WHERE {query})",
            oldest, system, *part,
        ):  # fmt: skip
            named[row["check_run"]][row["verdict"]].add(row["name"])
        failures: dict[int, list[Finding]] = defaultdict(list)
        for row in ledger.rows(
            f"SELECT check_run, document FROM finding WHERE check_run IN (SELECT id FROM check_run WHERE {query})",
            oldest, system, *part,
        ):  # fmt: skip
            failures[row["check_run"]].append(Finding.from_raw(json.loads(row["document"])))
        for row in rows:
            verdicts = named[row["id"]]
            passed = frozenset(verdicts["PASS"] | verdicts["INTERMITTENT"])
            found[row["node"]].append(
                check_run(row, tuple(failures[row["id"]]), passed, frozenset(verdicts["INTERMITTENT"]))
            )
    return dict(found)


def check_run(
    row: sqlite3.Row,
    failures: tuple[Finding, ...] = (),
    passed: frozenset[str] = frozenset(),
    intermittent: frozenset[str] = frozenset(),
) -> CheckRun:
    """The check run of a row of the table of that name."""
    own = "node run started ended verdict source confirmed words came level system sweep"
    same: dict[str, Any] = {key: row[key] for key in own.split()}
    return CheckRun(
        check=row["check_name"], failures=failures, passed=passed, parts=tuple(json.loads(row["parts"])), job=bool(row["job"]),
        intermittent=intermittent, **same,
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
    found: dict[str, list[LastVerdict]] = defaultdict(list)
    query = (
        "SELECT node, check_name, run, verdict, words, max(known) AS known, source FROM check_run "
        "WHERE system = ? AND known >= ? GROUP BY node, check_name"
    )
    for row in ledger.rows(query, system, since):
        found[row["node"]].append(LastVerdict(*row))
    return found


def last_measured(ledger: Ledger, system: str) -> dict[str, float]:
    """When the newest run that measured each node was known; health checks measure nothing."""
    query = (
        "SELECT node, max(known) AS known FROM check_run "
        "WHERE system = ? AND check_name NOT IN ('health', 'mpi_pairs', ?) GROUP BY node"
    )
    return {row["node"]: row["known"] for row in ledger.rows(query, system, RUN)}


def _parts(nodes: Collection[str]) -> Iterable[list[str]]:
    names = sorted(nodes)
    return (names[start : start + _PART] for start in range(0, len(names), _PART))


def open_evidence(ledger: Ledger, system: str) -> dict[str, list[Evidence]]:
    """All open hard evidence, by node, worst first."""
    return _by_node(ledger.rows(f"{_HARD} AND closed_by IS NULL", system))


def evidence_in(ledger: Ledger, system: str, since: float) -> dict[str, list[Evidence]]:
    """All hard evidence that is open or was known since then, by node."""
    return _by_node(ledger.rows(f"{_HARD} AND (closed_by IS NULL OR known >= ?)", system, since))


def _by_node(rows: list[sqlite3.Row]) -> dict[str, list[Evidence]]:
    found: dict[str, list[Evidence]] = defaultdict(list)
    for row in rows:
        finding = Finding.from_raw(json.loads(row["document"]))
        closed = inf if row["closed_at"] is None else float(row["closed_at"])
        why = row["confirmed"] or "hard evidence needs no second run"
        found[row["node"]].append(
            Evidence(check_run(row, (finding,)), finding, row["finding_id"], stands=True, why=why, closed_at=closed)
        )
    return {node: sorted(these, key=lambda each: each.severity) for node, these in found.items()}


def close_findings(ledger: Ledger, node: str, action: int, until: float, at: float) -> int:
    """Close the open hard evidence of a node that was known ``until`` then, by an action; how many findings that were."""
    query = (
        "UPDATE finding SET closed_by = ?, closed_at = ? WHERE node = ? AND hard AND closed_by IS NULL "
        "AND (SELECT known FROM check_run WHERE check_run.id = finding.check_run) <= ?"
    )
    ledger.write(query, action, at, node, until)
    return int(ledger.rows("SELECT changes() AS count")[0]["count"])
