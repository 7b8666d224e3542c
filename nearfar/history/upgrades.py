"""What a history knows of the software that a node runs with: since when, and what it did to the fleet."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

from nearfar.base import STALE_DAYS, NearfarError
from nearfar.verdict.references import SOFTWARE, Upgrade

from . import fleet_shift
from .lazy_polars import pl
from .places import directory
from .rows import short_name
from .store import History, RowFilter, trusted

#: Days beyond those that rows may be stale for, in which a node's first run with its software is looked for.
_MARGIN = 92


def upgrade(
    system: str, node: str, software: Mapping[str, str], days: int = STALE_DAYS, place: Path | None = None,
    now: datetime | None = None,
) -> Upgrade:  # fmt: skip
    """What the judge has to know where rows are stale: the fleet's shifts, and the day since when the node itself has had its
    ``software``. What cannot be read is not known."""
    now = now or datetime.now(timezone.utc)
    place = directory() if place is None else place
    shifts = fleet_shift.read(place, system)
    try:
        own = _own_first_seen(
            place, RowFilter(system, (short_name(node),), since=now - timedelta(days + _MARGIN)), software
        )
    except NearfarError:  # no polars, or a history that cannot be read: the past says so
        own = None
    return Upgrade(shifts, own, now.date(), days)


def _own_first_seen(place: Path, runs: RowFilter, software: Mapping[str, str]) -> date | None:
    """The day of the first run with this software after the last one with other."""
    same = [pl.col(key) == str(software[key]) for key in SOFTWARE if software.get(key) is not None]
    if not same:
        return None
    starts = History(place, lambda _: None, trusted(place)).aggregated(
        runs, ["node", "started"], pl.col("same").all(), made={"same": pl.all_horizontal(same)}
    )
    first = None
    for started, own in starts.sort("started").select("started", "same").iter_rows():
        first = None if own is False else first or (started.date() if own else None)
    return first
