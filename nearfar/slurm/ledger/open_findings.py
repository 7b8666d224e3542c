"""Hard evidence in the ledger: open from the run that found it until an action closes it."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from math import inf

from nearfar.base import Finding

from .evidence import Evidence
from .ledger import Ledger
from .runs import check_run

_QUERY = (
    "SELECT finding.id AS finding_id, document, closed_at, check_run.* "
    "FROM finding JOIN check_run ON check_run.id = finding.check_run WHERE hard AND system = ?"
)


def open_evidence(ledger: Ledger, system: str) -> dict[str, list[Evidence]]:
    """All open hard evidence, by node, worst first."""
    return _by_node(ledger.rows(f"{_QUERY} AND closed_by IS NULL", system))


def evidence_in(ledger: Ledger, system: str, since: float) -> dict[str, list[Evidence]]:
    """All hard evidence that is open or was known since then, by node."""
    return _by_node(ledger.rows(f"{_QUERY} AND (closed_by IS NULL OR known >= ?)", system, since))


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
