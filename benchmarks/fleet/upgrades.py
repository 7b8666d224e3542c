"""A new driver on a fleet: what the fleet's shift is each night, and what the judge makes of references that are stale."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from benchmarks.simulated_nights import MODEL
from nearfar.history import fleet_shift
from nearfar.history.fleet_shift import FleetShift
from nearfar.verdict.references import ReferenceFile, Upgrade

from . import rules
from .columns import columns
from .rules import Limits

_FIRST = date(2026, 1, 1)


@dataclass(frozen=True)
class Upgraded:
    """``limits`` of each node and night; ``shifts`` by night and row."""

    limits: Limits
    shifts: list[dict[tuple[str, str], FleetShift]]


def upgraded(values: np.ndarray, new: np.ndarray, file: ReferenceFile) -> Upgraded:
    """What judges a fleet night by night. ``values``: nodes × nights × columns; ``new``: on which night each node got the driver (as many
    as there are nights: not yet). A night knows the shift that the nights before it tell."""
    nodes, nights, _ = values.shape
    before = rules.limits([file])
    names = ("value", "fail", "degraded", "tuned")
    bounds = {name: np.repeat(np.repeat(getattr(before, name)[:, None], nodes, 0), nights, 1) for name in names}
    shifts = []
    first = int(new.min())
    for night in range(nights):
        found = _shifts(values, new, night) if night > first else {}
        shifts.append(found)
        own = new <= night
        if not own.any():
            continue
        # All nodes have had it since the first one's day: rows are stale from then on.
        known = Upgrade(tuple(found.values()), _day(first), _day(night))
        after = rules.limits([file], rules.AFTER, known)
        for name in names:
            bounds[name][own, night] = getattr(after, name)
    return Upgraded(Limits(**bounds), shifts)


def _shifts(values: np.ndarray, new: np.ndarray, night: int) -> dict[tuple[str, str], FleetShift]:
    """The shift of each row, of the nodes that had the driver before ``night``."""
    there = np.nonzero(new < night)[0]
    ratios = np.empty((len(there), values.shape[2]))
    for place, node in enumerate(there):
        since = new[node]
        late = np.median(values[node, max(0, since - fleet_shift.RUNS) : since], axis=0)
        ratios[place] = np.median(values[node, since : min(night, since + fleet_shift.RUNS)], axis=0) / late
    found = {}
    rows: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(columns()):
        rows.setdefault(each.row, []).append(number)
    for row, own in rows.items():
        change = fleet_shift.estimate(((1.0,), each) for each in ratios[:, own].tolist())
        if change is not None:
            before, after = {rules.DRIVER: rules.BEFORE}, {rules.DRIVER: rules.AFTER}
            first = str(_day(int(new.min())))
            found[row] = FleetShift(*row, MODEL, before, after, **vars(change), first_seen=first)
    return found


def _day(night: int) -> date:
    return _FIRST + timedelta(night)
