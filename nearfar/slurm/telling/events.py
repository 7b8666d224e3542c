"""What happened, as rows of the ledger's table of events: findings that stand, drains, releases; each once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from nearfar.slurm.act import View
from nearfar.slurm.ledger import KEPT, RECENT_ACTION, Evidence, Ledger, actions

#: The events of a system that have still to be told.
WAITING = "told IS NULL AND given_up IS NULL AND NOT over AND system = ?"
#: Characters of a text that the program gets: what a check reports may be of any length.
_LONGEST = 2000


def note_events(ledger: Ledger, view: View) -> None:
    """Add what has happened since the last call. A slow figure that no longer stands is another event when it does again."""
    system = view.options.policy.system
    with ledger.transaction():
        for node, these in view.facts.open_evidence.items():
            for each in these:
                _add(ledger, system, f"finding-{each.id}", each.found_by.known, "finding", node, _finding(each))
        standing = dict(_slow(view))
        slow = "SELECT id FROM event WHERE id LIKE 'slow-%' AND NOT over AND system = ?"
        known = {row["id"] for row in ledger.rows(slow, system)}
        for name in known - standing.keys():
            ledger.write("UPDATE event SET id = id || '-' || seq, over = 1 WHERE id = ?", name)
        for name, (node, each) in standing.items():
            _add(ledger, system, name, each.found_by.known, "finding", node, _finding(each))
        kinds = (*actions.DRAINS, *actions.RETURNS)
        new = (
            f"SELECT * FROM action WHERE kind IN ({','.join('?' * len(kinds))}) AND outcome = ? AND node IS NOT NULL "
            f"AND coalesce(system, ?) = ? AND {RECENT_ACTION} AND 'action-' || seq NOT IN (SELECT id FROM event) ORDER BY seq"
        )
        for row in ledger.rows(new, *kinds, actions.DONE, system, system, view.now - KEPT):
            action = actions.action(row)
            more: dict[str, Any] = {
                "reason": action.reason, "why": action.why, "check": action.check, "run": action.run,
                "finding": action.finding and action.finding.to_raw(),
            }  # fmt: skip
            if action.kind in actions.RETURNS:
                more = {"by_act": action.kind != actions.RESUMED, "why": action.why}
            kind = "drain" if action.kind in actions.DRAINS else "release"
            _add(ledger, system, f"action-{action.seq}", action.at, kind, str(action.node), {"system": system, **more})


def waiting(ledger: Ledger, system: str) -> int:
    """How many events of a system have still to be told."""
    return int(ledger.rows(f"SELECT count(*) AS count FROM event WHERE {WAITING}", system)[0]["count"])


def _slow(view: View) -> Iterator[tuple[str, tuple[str, Evidence]]]:
    """The slow figures that stand, by the names of their events."""
    standing = ((node, each) for node, these in view.facts.slow.items() for each in these if each.stands)
    for node, each in standing:
        what = "\n".join((view.facts.policy.system, node, each.found_by.check, each.finding.subject))
        yield f"slow-{sha256(what.encode()).hexdigest()[:8]}", (node, each)


def _finding(one: Evidence) -> dict[str, Any]:
    found = one.found_by
    return {
        "check": found.check, "run": found.run, "finding": one.finding.to_raw(), "why": one.why or None, "source": found.source,
    }  # fmt: skip


def _add(ledger: Ledger, system: str, name: str, at: float, kind: str, node: str, more: Mapping[str, Any]) -> None:
    document = json.dumps(_cut({key: value for key, value in more.items() if value is not None}), ensure_ascii=False)
    statement = "INSERT OR IGNORE INTO event (id, at, kind, node, system, document) VALUES (?, ?, ?, ?, ?, ?)"
    ledger.write(statement, name, at, kind, node, system, document)


def _cut(value: Any) -> Any:
    """A value with its texts cut, those of its objects too."""
    if isinstance(value, Mapping):
        return {key: _cut(each) for key, each in value.items()}
    return value[:_LONGEST] if isinstance(value, str) else value
