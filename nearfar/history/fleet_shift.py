"""What a fleet's figures did when its software changed: the shift that the nodes with both have in common.

``estimate`` is pure; ``of_system`` asks the history; ``write`` and ``read`` keep the shifts of a system in ``shifts.json`` beside its
rows, so that judging needs neither the whole history nor polars.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from nearfar.base import Finding, day_text, statistics, utc_text, write_atomically
from nearfar.measurement import EXPLAINING
from nearfar.verdict import thresholds

from . import messages
from .lazy_polars import pl
from .places import ELSEWHERE, VERSION, word
from .series import LESS_IS_BETTER
from .store import History, RowFilter, trusted

SCHEMA = "nearfar-shifts/1"
NAME = "shifts.json"
#: Software that begins a new segment of a figure's past: the driver, CUDA, MPS, the MPI library, and nearfar's own program.
SOFTWARE = ("driver", "cuda", "mps", "mpi", "version")
_NAMED = {"version": "nearfar", "mps": "MPS", "mpi": "MPI", "cuda": "CUDA"}
#: Changes of software are looked for in so many days; shifts that are older are kept for as long as ``KEPT``.
SPAN = timedelta(days=92)
KEPT = timedelta(days=400)
#: A node's figures count from so long before the first change on, and of each software so many runs next to the change.
BEFORE = timedelta(days=21)
RUNS = 14
#: What was measured later than so long after the last change says nothing more of it.
AFTER = timedelta(days=21)
#: So many nodes are read at a time.
NODES = 50


@dataclass(frozen=True)
class FleetShift:
    """What a row's figures did in common from one software to another.

    ``row``: of references (``near.h2d``); ``gpu_model`` None: of nodes without GPUs. ``before`` and ``after``: the software of the two, by
    the names in ``SOFTWARE``, what is not known left out. ``part``: the common change as a part of the figure before (-0.015: 1.5 %
    less), with its interval ``low`` to ``high`` (at least 95 %; of fewer than six nodes the least and the greatest change). ``nodes``
    have the figure with both; on ``seen`` of them it changed the same way by at least half as much. ``first_seen``: the day of the
    first run with the new software in the system, as 2026-11-01.
    """

    check: str
    row: str
    gpu_model: str | None
    before: Mapping[str, str]
    after: Mapping[str, str]
    part: float
    low: float
    high: float
    nodes: int
    seen: int
    first_seen: str
    unit: str = "GB/s"

    @property
    def certain(self) -> bool:
        """Whether the interval leaves no doubt that there is a shift."""
        return self.low > 0 or self.high < 0

    @property
    def worse(self) -> bool:
        """Whether it is for the worse: less of a rate, more of a time."""
        return self.part > 0 if self.unit in LESS_IS_BETTER else self.part < 0

    @property
    def changed(self) -> str:
        """What is other software, in words: ``driver 580.95 -> 590.12``."""
        return changed_words(self.before, self.after)


def changed_words(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What differs between two software stamps: ``driver 580.95 -> 590.12``."""
    names = [name for name in SOFTWARE if before.get(name) != after.get(name)]
    changes = (f"{_NAMED.get(n, n)} {before.get(n, 'unknown')} -> {after.get(n, 'unknown')}" for n in names)
    return ", ".join(changes)


@dataclass(frozen=True)
class CommonChange:
    """What ``estimate`` found; the fields are those of ``FleetShift``."""

    part: float
    low: float
    high: float
    nodes: int
    seen: int


@dataclass(frozen=True)
class SystemShifts:
    """The shifts of a system. ``why``: why there is none, or why some are missing; None where there is nothing to say."""

    shifts: tuple[FleetShift, ...]
    why: Finding | None = None


def _sound() -> pl.Expr:
    """What was measured as it should be, whatever the verdict: an upgrade may fail every figure."""
    return (
        pl.col("converged").fill_null(True) & pl.col("verified").fill_null(True) & ~pl.col("throttled").fill_null(False)
        & pl.col("disturbance").is_null() & ~pl.col("quick").fill_null(False) & ~pl.col("contended").fill_null(False)
        & pl.col("value").is_finite() & (pl.col("value") > 0) & ~pl.col("quantity").is_in(list(EXPLAINING))
    )  # fmt: skip


def _made() -> dict[str, pl.Expr]:
    """A program that does not say whether MPS ran saw none; boards by UUID or serial number."""
    return {"mps": pl.col("mps").fill_null("off"), "boards": pl.coalesce("gpu_uuid", "gpu_serial")}


def estimate(nodes: Iterable[tuple[Sequence[float], Sequence[float]]]) -> CommonChange | None:
    """The change that nodes have in common, each with its figures before and after; None of fewer than three nodes with both.

    A node's own change is the ratio of its medians. The common one is the median of those that are near their median: up to 30 % of the
    nodes may have a change of their own.
    """
    changes = sorted(
        math.log(statistics.median(after) / statistics.median(before))
        for before, after in nodes
        if before and after and min(*before, *after) > 0
    )
    if len(changes) < thresholds.FEWEST_NODES:
        return None
    middle = statistics.median(changes)
    apart = max(thresholds.OWN_CHANGE * statistics.spread(changes), thresholds.LEAST_APART)
    common = [change for change in changes if abs(change - middle) <= apart]
    part = statistics.median(common)
    low, high = statistics.median_interval(common) or (common[0], common[-1])
    seen = sum(change * part > 0 and abs(change) >= abs(part) / 2 for change in changes)
    return CommonChange(math.expm1(part), math.expm1(low), math.expm1(high), len(changes), seen)


def of_system(store: History, system: str, now: datetime | None = None) -> SystemShifts:
    """The shifts of a system from each software that its nodes had to the next in the last months, out of its history, beside those that
    are kept from before. Nodes that have not changed say nothing. Raises ``CouldNotJudge`` where the history cannot be read."""
    now = now or datetime.now(timezone.utc)
    seen = store.aggregated(
        RowFilter(system, since=now - SPAN), ["node", "program", *SOFTWARE], pl.col("started").min().alias("first"),
        where=_sound(), made=_made(),
    )  # fmt: skip
    # What is not the first that a node's program had; a library of MPI that only some figures name is none.
    first = pl.col("first").min().over("node", "program", pl.col("mpi").is_null())
    later = seen.filter(pl.col("first") > first)
    nodes = seen["node"].n_unique()
    kept = [shift for shift in read(store.directory, system) if shift.first_seen >= day_text(now - KEPT)]
    if later.is_empty():
        message = messages.ONE_SOFTWARE if nodes else messages.NO_FIGURE
        return SystemShifts(tuple(kept), message.finding(system, nodes=nodes, since=day_text(now - SPAN)))
    changed = later.group_by("node").agg(pl.col("first").min(), pl.col("first").max().alias("last")).sort("node")
    # Nodes lie one after another in the history, and the figures of a whole fleet are much at once.
    parts = [_ratios(store, system, part) for part in changed.iter_slices(NODES)]
    since = seen.group_by("program", *SOFTWARE).agg(pl.col("first").min().alias("first_seen"))
    shifts, most = _shifts(pl.concat(parts), since)
    recent = {_key(shift) for shift in shifts}
    whole = (*shifts, *(shift for shift in kept if _key(shift) not in recent))
    return SystemShifts(whole, None if shifts else _too_few(system, nodes, most))


def _too_few(system: str, nodes: int, both: int) -> Finding:
    if nodes < thresholds.FEWEST_NODES:
        return messages.NO_FLEET.finding(system, nodes=nodes, needed=thresholds.FEWEST_NODES)
    return messages.TOO_FEW.finding(system, nodes=both, needed=thresholds.FEWEST_NODES)


def _ratios(store: History, system: str, changed: pl.DataFrame) -> pl.DataFrame:
    """What each figure of some nodes changed by from one software to the next; ``first`` and ``last`` are the times of a node's
    changes. Of each software the first runs count and the last ones."""
    begin, end = changed["first"].min(), changed["last"].max()
    assert isinstance(begin, datetime) and isinstance(end, datetime)
    own = ["check", "metric", "node", "gpu_model", "unit", "program", "boards"]
    segments = store.aggregated(
        RowFilter(system, tuple(changed["node"]), since=begin - BEFORE), [*own, *SOFTWARE],
        pl.col("row").first(), pl.col("started").min().alias("first"),
        pl.col("value").sort_by("started").head(RUNS).median().alias("early"),
        pl.col("value").sort_by("started").tail(RUNS).median().alias("late"),
        where=_sound() & (pl.col("started") <= end + AFTER), made={**_made(), "row": pl.col("rows").list.last()},
    )  # fmt: skip
    return (
        segments.filter(pl.col("row").is_not_null())
        .with_columns(software=pl.struct(SOFTWARE))
        .sort("first")
        .with_columns(before=pl.col("software").shift().over(own), value=pl.col("late").shift().over(own))
        .filter(pl.col("before").is_not_null())
        .select(
            "check",
            "row",
            "gpu_model",
            "unit",
            "program",
            "before",
            "software",
            "node",
            ratios=pl.col("early") / pl.col("value"),
        )
    )


def _shifts(ratios: pl.DataFrame, since: pl.DataFrame) -> tuple[list[FleetShift], int]:
    """The shifts from one software to the next, and how many nodes have both of any two; ``since`` has when each was first seen."""
    first = since.select("program", "first_seen", software=pl.struct(SOFTWARE))
    pairs = (
        ratios.join(first, on=["program", "software"], how="left", nulls_equal=True)
        .group_by("check", "row", "gpu_model", "unit", "before", "software", "node", maintain_order=True)
        .agg("ratios", pl.col("first_seen").min())
        .group_by("check", "row", "gpu_model", "unit", "before", "software", maintain_order=True)
        .agg("ratios", pl.col("first_seen").min())
        .sort("check", "row", "gpu_model", "first_seen")
    )
    shifts = []
    most = 0
    for pair in pairs.iter_rows(named=True):
        most = max(most, len(pair["ratios"]))
        change = estimate(((1.0,), ratios) for ratios in pair["ratios"])
        if change is not None:
            before, after = (
                {n: v for n, v in pair[which].items() if v is not None} for which in ("before", "software")
            )
            shifts.append(FleetShift(
                pair["check"], pair["row"], pair["gpu_model"], before, after, **vars(change), first_seen=day_text(pair["first_seen"]),
                unit=pair["unit"],
            ))  # fmt: skip
    return shifts, most


def _key(shift: FleetShift) -> tuple[object, ...]:
    return shift.check, shift.row, shift.gpu_model, *(frozenset(side.items()) for side in (shift.before, shift.after))


def write(place: Path, system: str, shifts: Sequence[FleetShift]) -> Path:
    """Keep the shifts of a system beside its rows in the history ``place``; returns the file. Raises ``CouldNotJudge`` where that is
    impossible."""
    entries = [{**vars(shift), "before": dict(shift.before), "after": dict(shift.after)} for shift in shifts]
    raw = {"schema": SCHEMA, "system": system, "time": utc_text(), "shifts": entries}
    path = _path(place, system)
    write_atomically(path, json.dumps(raw, indent=1, ensure_ascii=False, allow_nan=False) + "\n", ELSEWHERE)
    return path


def read(place: Path, system: str) -> tuple[FleetShift, ...]:
    """What ``write`` kept; nothing where there is none, and of a file that is broken, newer or another user's. Needs no polars."""
    path = _path(place, system)
    try:
        with path.open("rb") as stream:
            owner = os.fstat(stream.fileno()).st_uid
            raw = json.loads(stream.read())
    except (OSError, ValueError):
        return ()
    about = (SCHEMA, system)
    if owner not in trusted(place) or not isinstance(raw, dict) or (raw.get("schema"), raw.get("system")) != about:
        return ()
    try:
        return tuple(_shift(entry) for entry in raw["shifts"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return ()


def _path(place: Path, system: str) -> Path:
    return place / VERSION / f"system={word(system)}" / NAME


def _shift(raw: Mapping[str, Any]) -> FleetShift:
    before, after = ({str(key): str(value) for key, value in raw[which].items()} for which in ("before", "after"))
    part, low, high = (float(raw[key]) for key in ("part", "low", "high"))
    if not all(map(math.isfinite, (part, low, high))) or part <= -1:
        raise ValueError("no part")
    model = raw["gpu_model"]
    return FleetShift(
        str(raw["check"]), str(raw["row"]), None if model is None else str(model), before, after, part, low, high,
        int(raw["nodes"]), int(raw["seen"]), str(raw["first_seen"]), str(raw.get("unit", "GB/s")),
    )  # fmt: skip
