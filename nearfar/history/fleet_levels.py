"""What a fleet's figures are with each software: the middle of its nodes, by partition and reference entry.

``of_system`` asks the history; ``write`` and ``read`` keep the levels of a system in ``levels.json`` beside its rows, so that judging
needs neither the whole history nor polars.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime, timedelta, timezone
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

from nearfar.base import MADE_UP, day_text, statistics, utc_text, utc_time, write_atomically
from nearfar.measurement import EXPLAINING
from nearfar.verdict import thresholds
from nearfar.verdict.references import SOFTWARE, FleetLevel

from .lazy_polars import pl
from .places import ELSEWHERE, VERSION, word
from .schema import unsound
from .store import History, RowFilter, trusted

SCHEMA = "nearfar-levels/1"
NAME = "levels.json"
#: Figures count that are no older.
SPAN = timedelta(days=92)


def of_system(store: History, system: str, now: datetime | None = None) -> tuple[FleetLevel, ...]:
    """The levels of a system with each software of the last months, of those that three nodes have or more; by entry, the oldest
    software first. Raises ``CouldNotJudge`` where the history cannot be read."""
    question = RowFilter(system, since=(now or datetime.now(timezone.utc)) - SPAN)
    entry = ["partition", "check", "row", "gpu_model", "unit", *SOFTWARE]
    made = {"row": pl.col("rows").list.last(), "mps": pl.col("mps").fill_null("off")}
    # What was measured as it should be, whatever the verdict: an upgrade may fail every figure. A level has no spread that a figure which
    # did not converge could widen.
    sound = (
        unsound().is_null() & pl.col("converged").fill_null(True) & ~pl.col("quick").fill_null(False)
        & ~pl.col("contended").fill_null(False) & ~pl.col("quantity").is_in(list(EXPLAINING))
    )  # fmt: skip
    nodes = store.aggregated(
        question, [*entry, "node"], pl.col("value").median(), pl.col("started").min(), where=sound, made=made
    )
    levels = (
        nodes.filter(pl.col("row").is_not_null())
        .group_by(entry, maintain_order=True)
        .agg("value", pl.col("started").min())
        .filter(pl.col("value").list.len() >= thresholds.FEWEST_NODES)
        .sort("partition", "check", "row", "gpu_model", "started")
    )
    return tuple(_level(row) for row in levels.iter_rows(named=True))


def changes(levels: Sequence[FleetLevel]) -> Iterator[tuple[FleetLevel, FleetLevel]]:
    """What each entry's level was with one software and with the next that the fleet had."""
    for _, entry in groupby(levels, key=attrgetter("partition", "check", "row", "gpu_model", "unit")):
        yield from pairwise(entry)


def _level(row: Mapping[str, Any]) -> FleetLevel:
    values = sorted(row["value"])
    low, high = statistics.median_interval(values) or (values[0], values[-1])
    software = {name: row[name] for name in SOFTWARE if row[name] is not None}
    return FleetLevel(
        row["partition"], row["check"], row["row"], row["gpu_model"], row["unit"], software, statistics.median(values), low, high,
        len(values), day_text(row["started"]),
    )  # fmt: skip


def write(place: Path, system: str, levels: Sequence[FleetLevel]) -> Path:
    """Keep the levels of a system beside its rows in the history ``place``; returns the file. Raises ``CouldNotJudge`` where that is
    impossible."""
    raw = {"schema": SCHEMA, "system": system, "time": utc_text(), "levels": [asdict(level) for level in levels]}
    path = _path(place, system)
    write_atomically(path, json.dumps(raw, indent=1, ensure_ascii=False, allow_nan=False) + "\n", ELSEWHERE)
    return path


def read(place: Path, system: str, partition: str, now: datetime | None = None) -> tuple[FleetLevel, ...]:
    """What ``write`` kept of a partition; nothing where there is none, and of a file that is old, broken, newer or another user's. Needs no
    polars."""
    path = _path(place, system)
    try:
        if not path.is_file() or path.stat().st_uid not in trusted(place):
            return ()
        raw = json.loads(path.read_bytes())
        recent = utc_time(raw["time"]) > (now or datetime.now(timezone.utc)) - SPAN
        if recent and (raw["schema"], raw["system"]) == (SCHEMA, system):
            return tuple(_read_level(entry) for entry in raw["levels"] if entry["partition"] == partition)
    except (*MADE_UP, OSError):
        pass
    return ()


def _path(place: Path, system: str) -> Path:
    return place / VERSION / f"system={word(system)}" / NAME


def _read_level(raw: Mapping[str, Any]) -> FleetLevel:
    level = FleetLevel(**{each.name: raw[each.name] for each in fields(FleetLevel)})
    if (
        not 0 < level.low <= level.value <= level.high < math.inf
        or not thresholds.FEWEST_NODES <= level.nodes < math.inf
    ):
        raise ValueError("no level")
    return replace(level, software={str(key): str(version) for key, version in raw["software"].items()})
