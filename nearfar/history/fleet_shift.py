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
from pathlib import Path
from typing import Any

from nearfar.base import statistics, utc_text, write_atomically

from .places import ELSEWHERE, VERSION, word
from .series import LESS_IS_BETTER
from .store import History, trusted

SCHEMA = "nearfar-shifts/1"
NAME = "shifts.json"
#: Software that begins a new segment of a figure's past: the driver, CUDA, MPS, the MPI library, and nearfar's own program.
SOFTWARE = ("driver", "cuda", "mps", "mpi", "version")
_NAMED = {"version": "nearfar", "mps": "MPS", "mpi": "MPI", "cuda": "CUDA"}
#: Fewer nodes with both are no fleet.
FEWEST_NODES = 3
#: A node further from the others than so many of their spreads has a change of its own, and has no say in the common one.
OWN_CHANGE = 3.0
#: And further than this part of the figure.
LEAST_APART = 0.002


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
    words = (f"{_NAMED.get(n, n)} {before.get(n, 'unknown')} -> {after.get(n, 'unknown')}" for n in names)
    return ", ".join(words)


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
    """The shifts of a system. ``why``: why there is none, or why some are missing, in words; None where there is nothing to say."""

    shifts: tuple[FleetShift, ...]
    why: str | None = None


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
    if len(changes) < FEWEST_NODES:
        return None
    middle = statistics.median(changes)
    apart = max(OWN_CHANGE * statistics.spread(changes), LEAST_APART)
    common = [change for change in changes if abs(change - middle) <= apart]
    part = statistics.median(common)
    low, high = statistics.median_interval(common) or (common[0], common[-1])
    seen = sum(change * part > 0 and abs(change) >= abs(part) / 2 for change in changes)
    return CommonChange(math.expm1(part), math.expm1(low), math.expm1(high), len(changes), seen)


def of_system(store: History, system: str) -> SystemShifts:
    """The shifts of a system from each software that its nodes had to the next, out of its history, beside those that are kept
    from before. Nodes that have not changed say nothing. Raises ``CouldNotJudge`` where the history cannot be read."""
    raise NotImplementedError


def write(place: Path, system: str, shifts: Sequence[FleetShift]) -> Path:
    """Keep the shifts of a system beside its rows in the history ``place``; returns the file. Raises ``CouldNotJudge`` where that is
    impossible."""
    found = [{**vars(each), "before": dict(each.before), "after": dict(each.after)} for each in shifts]
    raw = {"schema": SCHEMA, "system": system, "time": utc_text(), "shifts": found}
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
    if owner not in trusted(place) or not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        return ()
    try:
        return tuple(_shift(each) for each in raw["shifts"])
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
