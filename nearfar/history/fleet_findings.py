"""What a fleet's new software did to the figures that its references speak of: a finding of the fleet, which blames no node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from typing import Any

from nearfar.base import STALE_DAYS, Finding, site_directories
from nearfar.site import systems
from nearfar.verdict import thresholds
from nearfar.verdict.references import (
    SOFTWARE,
    ReferenceFile,
    ReferenceRow,
    RowPlace,
    Upgrade,
    find,
    software_changes,
)

from . import fleet_shift, messages
from .fleet_shift import FleetShift, SystemShifts
from .lazy_polars import pl
from .series import LESS_IS_BETTER
from .store import History, RowFilter

#: What a finding about the fleet speaks of.
FLEET = "fleet"
#: A node that has not run for so long is no longer among the fleet.
SPAN = timedelta(days=92)
_WAYS = {"h2d": "H2D", "d2h": "D2H"}


@dataclass(frozen=True)
class FleetReport:
    """``shifts`` are all that are known of a system; ``findings`` tell those of rows that were tuned before them: DEGRADED for the worse,
    else notes. ``why``: why there is no shift; None where there is one."""

    system: str
    shifts: tuple[FleetShift, ...]
    findings: tuple[Finding, ...]
    why: Finding | None


@dataclass(frozen=True)
class _MovedRow:
    row: ReferenceRow
    moved: software_changes.Moved

    @property
    def worse(self) -> bool:
        down = self.moved.part < 0
        return abs(self.moved.part) >= thresholds.LEAST_SHIFT and (
            not down if self.row.unit in LESS_IS_BETTER else down
        )


@dataclass
class _Change:
    """A change of software, since when references are stale, the nodes that have the new one, and the rows of which it is known what it
    did."""

    old: str
    new: str
    stale: dict[str, str]
    nodes: set[str] = field(default_factory=set)
    rows: dict[RowPlace, _MovedRow] = field(default_factory=dict)


def report(store: History, system: str, now: datetime | None = None) -> FleetReport:
    """Estimate the shifts of a system, keep them beside its rows, and say what they did to rows that were tuned before them.

    Raises ``NearfarError`` for a broken file of the site, a history that cannot be read or written, and without polars.
    """
    now = now or _now()
    system_shifts = fleet_shift.of_system(store, system, now)
    if system_shifts.shifts:
        fleet_shift.write(store.directory, system, system_shifts.shifts)
    files, days = _of_site(system)
    reported = findings(system, system_shifts, files, running(store, system, now), now, days)
    return FleetReport(system, system_shifts.shifts, tuple(reported), system_shifts.why)


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _of_site(system: str) -> tuple[list[ReferenceFile], int]:
    """The tuned files of a system's partitions, and for how many days they may be stale."""
    directories = site_directories()
    known = systems.load_all(directories).get(system)
    if known is None:
        return [file for file in find(system, None, directories) if file.origin == "tuned"], STALE_DAYS
    parts = known.partitions.values()
    files = {file.file.path: file for part in parts for file in find(part.references, part.node_type, directories)}
    tuned = [file for file in files.values() if file.origin == "tuned"]
    return tuned, max((part.stale_days for part in parts), default=STALE_DAYS)


def running(store: History, system: str, now: datetime) -> dict[str, dict[str, str]]:
    """By node, the software that each had last."""
    seen = store.aggregated(RowFilter(system, since=now - SPAN), ["node", *SOFTWARE], pl.col("started").max())
    nodes = seen.sort("started").group_by("node", maintain_order=True).agg(pl.col(SOFTWARE).drop_nulls().last())
    return {
        row["node"]: {key: row[key] for key in SOFTWARE if row[key] is not None} for row in nodes.iter_rows(named=True)
    }


def findings(
    system: str,
    known: SystemShifts,
    files: Sequence[ReferenceFile],
    nodes: Mapping[str, Mapping[str, str]],
    now: datetime,
    days: int,
) -> list[Finding]:
    """A finding for each change of software that makes rows stale on some of the ``nodes`` (their software by name)."""
    shifts = known.shifts
    rows = [(file, row, file.stamp(row)) for file in files for row in file.rows()]
    changes: dict[tuple[str, str], _Change] = {}
    for software in {tuple(sorted(versions.items())): versions for versions in nodes.values()}.values():
        those = {node for node, versions in nodes.items() if versions == software}
        for file, row, then in rows:
            apart = software_changes.changes(then, software)
            if not apart:
                continue
            old, new = (software_changes.words({key: pair[which] for key, pair in apart.items()}) for which in (0, 1))
            change = changes.setdefault(
                (old, new), _Change(old, new, _stale(shifts, then, software, file.tuned_on(row), now, days))
            )
            change.nodes |= those
            own = [s for s in shifts if (s.check, s.row) == (row.check, row.name)]
            own = [s for s in own if file.model_key(s.check, s.gpu_model) == row.model]
            moved = software_changes.moved(own, then, software)
            if moved is not None:
                change.rows[row.place] = _MovedRow(row, moved)
    return [_finding(system, change, len(nodes), known.why) for _, change in sorted(changes.items())]


def _stale(
    shifts: Sequence[FleetShift], then: Mapping[str, str], software: Mapping[str, str], tuned: date | None, now: datetime, days: int
) -> dict[str, str]:  # fmt: skip
    """Since when references are stale, and until when they are, or since when no more; nothing where nobody knows."""
    first = software_changes.first_seen(Upgrade(shifts, today=now.date()), then, software, tuned)
    if first is None:
        return {}
    end = first + timedelta(days=days)
    return {"since": str(first), "ended" if now.date() >= end else "until": str(end)}


def _finding(system: str, change: _Change, of: int, why: Finding | None) -> Finding:
    fields: dict[str, Any] = {
        "system": system,
        "new": change.new,
        "old": change.old,
        "nodes": len(change.nodes),
        "of": of,
        **change.stale,
    }
    if not change.rows:
        return messages.EFFECT_UNKNOWN.finding(FLEET, cause=why and why.reason, **fields)
    certain = sorted(
        (moved_row for moved_row in change.rows.values() if not moved_row.moved.low <= 0 <= moved_row.moved.high),
        key=lambda moved_row: -abs(moved_row.moved.part),
    )
    if not certain:
        return messages.NO_EFFECT.finding(FLEET, **fields)
    worse = [moved_row for moved_row in certain if moved_row.worse]
    message = messages.WORSE if worse else messages.MOVED
    return message.finding(FLEET, moved=[_row_words(moved_row) for moved_row in worse or certain], **fields)


def _row_words(moved_row: _MovedRow) -> str:
    """``near H2D −1.5 % on 43 of 45 nodes``."""
    name = " ".join(_WAYS.get(word, word) for part in moved_row.row.name.split(".") for word in part.split("_"))
    return f"{name} {software_changes.signed_percent(moved_row.moved.part)} on {moved_row.moved.seen} of {moved_row.moved.nodes} nodes"
