"""A new driver on a fleet: what the fleet has with it each night, and what the judge makes of references that are stale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.simulated_nights import MODEL
from nearfar.base import statistics
from nearfar.history.fleet_levels import FleetLevel
from nearfar.verdict import thresholds
from nearfar.verdict.references import ReferenceFile

from . import rules
from .columns import columns
from .rules import Limits


@dataclass(frozen=True)
class Upgraded:
    """``limits`` of each node and night; by night, the entries whose level with the driver is ``known``."""

    limits: Limits
    known: list[set[tuple[str, str]]]


def upgraded(values: np.ndarray, new: np.ndarray, file: ReferenceFile) -> Upgraded:
    """What judges a fleet night by night. ``values``: nodes × nights × columns; ``new``: on which night each node got the driver (as many
    as there are nights: not yet). A night knows the levels that the nights before it tell."""
    nodes, nights, _ = values.shape
    before = rules.limits([file])
    names = ("value", "fail", "degraded", "tuned")
    bounds = {name: np.repeat(np.repeat(getattr(before, name)[:, None], nodes, 0), nights, 1) for name in names}
    known = []
    for night in range(nights):
        levels = _levels(values, new, night)
        known.append({(each.check, each.row) for each in levels})
        own = new <= night
        if own.any():
            after = rules.limits([file], rules.AFTER, levels)
            for name in names:
                bounds[name][own, night] = getattr(after, name)
    return Upgraded(Limits(**bounds), known)


def _nominal(row: tuple[str, str]) -> float:
    return next(each.nominal for each in columns() if each.row == row)


def _levels(values: np.ndarray, new: np.ndarray, night: int) -> list[FleetLevel]:
    """The level of each entry with the new driver, of the nodes that had it before ``night``."""
    there = np.nonzero(new < night)[0]
    if len(there) < thresholds.FEWEST_NODES:
        return []
    rows: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(columns()):
        rows.setdefault(each.row, []).append(number)
    found = []
    for row, own in rows.items():
        middles = sorted(float(np.median(values[node, new[node] : night][:, own])) * _nominal(row) for node in there)
        low, high = statistics.median_interval(middles) or (middles[0], middles[-1])
        software, middle = {rules.DRIVER: rules.AFTER}, statistics.median(middles)
        found.append(FleetLevel("gpu", *row, MODEL, "GB/s", software, middle, low, high, len(middles), ""))
    return found
