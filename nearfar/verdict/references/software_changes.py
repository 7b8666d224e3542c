"""What changed in a node's software since a row was tuned, since when, and what it did to the figures of a fleet. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from nearfar.base import STALE_DAYS

#: The software of a node that a row's stamp may name.
SOFTWARE = ("driver", "cuda", "mps", "mpi")
_NAMES = {"cuda": "CUDA", "mps": "MPS", "mpi": "MPI"}


class Shift(Protocol):
    """What the figures of a row did in common on a fleet whose software changed (``history.FleetShift``).

    ``gpu_model`` None: of nodes without GPUs. ``before`` and ``after`` are the software of the two by name. ``part`` is the change as a
    part of the figure (-0.015: 1.5 % less), ``low`` to ``high`` its interval; ``nodes`` have the figure with both, on ``seen`` of them
    it changed the same way. ``first_seen``: the day of the first run with the new software, as 2026-11-01.
    """

    @property
    def check(self) -> str: ...  # noqa: D102
    @property
    def row(self) -> str: ...  # noqa: D102
    @property
    def gpu_model(self) -> str | None: ...  # noqa: D102
    @property
    def before(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def after(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def part(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102
    @property
    def nodes(self) -> int: ...  # noqa: D102
    @property
    def seen(self) -> int: ...  # noqa: D102
    @property
    def first_seen(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Upgrade:
    """What is known of the software that a node runs with now, beside what its rows were tuned with.

    ``shifts`` are those of its fleet; ``own_first_seen`` is the day since when the node itself has had it (None: not known), ``today``
    that of this run (None: no row's time is over), ``days`` for how long rows may be stale.
    """

    shifts: Sequence[Shift] = ()
    own_first_seen: date | None = None
    today: date | None = None
    days: int = STALE_DAYS


@dataclass(frozen=True)
class Moved:
    """What a fleet's figures did from the software of a row to that of now, as ``Shift`` has it."""

    part: float
    low: float
    high: float
    nodes: int
    seen: int

    def words(self, new: str) -> str:
        """``the fleet moved −1.5 % with driver 590.12 (43 of 45 nodes)``."""
        if self.low <= 0 <= self.high:
            return f"the fleet did not move beyond its noise with {new} ({self.nodes} nodes)"
        return f"the fleet moved {signed_percent(self.part)} with {new} ({self.seen} of {self.nodes} nodes)"


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """By name, the versions of a stamp and of now, where they differ. What either does not name is the same."""
    return {key: (version, now[key]) for key, version in then.items() if now.get(key, version) != version}


def words(software: Mapping[str, str]) -> str:
    """``driver 590.12, CUDA 13.1``."""
    return ", ".join(f"{_NAMES.get(key, key)} {version}" for key, version in software.items())


def signed_percent(part: float) -> str:
    """``−1.5 %``."""
    return f"{'−' if part < 0 else '+'}{abs(part) * 100:.1f} %"


def projected(then: Mapping[str, str], software: Mapping[str, str]) -> tuple[str, ...]:
    """Of some software the versions that the stamp ``then`` speaks of; what is not known is as in the stamp."""
    return tuple(software.get(key, then[key]) for key in sorted(then))


def moved(shifts: Sequence[Shift], then: Mapping[str, str], now: Mapping[str, str]) -> Moved | None:
    """What the shifts of one row make together from the software ``then`` to that of ``now``, through what was between them, there or
    back; None where they do not lead there."""
    start, end = projected(then, then), projected(then, now)
    found = {start: Moved(0.0, 0.0, 0.0, 0, 0)}
    places = [start]
    steps: list[tuple[tuple[str, ...], tuple[str, ...], Moved]] = []
    for shift in sorted(shifts, key=lambda shift: -shift.nodes):
        before, after = projected(then, shift.before), projected(then, shift.after)
        there = Moved(shift.part, shift.low, shift.high, shift.nodes, shift.seen)
        steps += [(before, after, there), (after, before, _back(there))]
    for place in places:
        for before, after, step in steps:
            if before == place and after not in found:
                found[after] = _joined(found[place], step)
                places.append(after)
    return found.get(end) if end != start else None


def _back(step: Moved) -> Moved:
    part, low, high = (1 / (1 + each) - 1 for each in (step.part, step.high, step.low))
    return Moved(part, low, high, step.nodes, step.seen)


def _joined(before: Moved, step: Moved) -> Moved:
    part, low, high = (
        (1 + one) * (1 + other) - 1
        for one, other in ((before.part, step.part), (before.low, step.low), (before.high, step.high))
    )
    nodes, seen = step.nodes, step.seen
    return Moved(
        part, low, high, *((min(before.nodes, nodes), min(before.seen, seen)) if before.nodes else (nodes, seen))
    )


def first_seen(
    upgrade: Upgrade, then: Mapping[str, str], now: Mapping[str, str], tuned: date | None = None
) -> date | None:
    """Since when the software is another than that of a row ``tuned`` on a day: the first run with it in the fleet, else of the node
    itself, which may have gone back to what was there before, or never have left it. None where nobody knows. A day that is yet to
    come is a clock's mistake, and none, that of ``tuned`` too."""
    if tuned is not None and upgrade.today is not None and tuned > upgrade.today:
        tuned = None
    end = projected(then, now)
    days = []
    for shift in upgrade.shifts:
        if projected(then, shift.after) == end != projected(then, shift.before):
            try:
                days.append(date.fromisoformat(shift.first_seen))
            except ValueError:
                continue
    known = [day for day in days if tuned is None or day > tuned]
    known += [] if upgrade.own_first_seen is None else [upgrade.own_first_seen]
    first = min((day for day in known if upgrade.today is None or day <= upgrade.today), default=None)
    return first if first is None or tuned is None else max(first, tuned)
