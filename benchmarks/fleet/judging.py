"""The judge over arrays: the word on each figure of each node-night, as ``verdict.judge`` has it.

It knows a figure's limits, the two later looks at what is beyond one, and paths of a shared host that fall together. A node's own
past is ``past``'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.judged_faults import LATER
from nearfar.verdict import thresholds

from .columns import columns
from .fleets import Fleet
from .rules import Limits

#: Words in the order in which the worst wins.
PASS, DEGRADED, INDETERMINATE, FAIL = range(4)
WORDS = ("PASS", "DEGRADED", "INDETERMINATE", "FAIL")


@dataclass(frozen=True)
class Measured:
    """What was measured on a fleet: ``values`` and the samples' ``medians``, nodes × nights × columns, parts of the nominal figures.
    ``again``: two later looks at the figures of some (node, night, column), 2 × figures."""

    host: str
    values: np.ndarray
    medians: np.ndarray
    again: Callable[[tuple[np.ndarray, ...]], np.ndarray]


def measured(fleet: Fleet, left: np.ndarray, source: np.random.Generator) -> Measured:
    """A fleet's figures, of which a fault leaves ``left``."""

    def again(at: tuple[np.ndarray, ...]) -> np.ndarray:
        still = np.broadcast_to(left, fleet.shape)[at]
        return np.stack([fleet.again(at, source) * still for _ in range(LATER)])

    return Measured(fleet.host, fleet.values * left, fleet.medians * left, again)


def by_references(seen: Measured, limits: Limits) -> tuple[np.ndarray, np.ndarray, Measured]:
    """The words by the references, where DEGRADED is for some looks alone, nodes × nights × columns, and what was measured, with the value
    that all looks settle on. ``limits`` has those of each node (nodes × columns), or of each node and night."""
    values, shape = seen.values.copy(), seen.values.shape
    fail, degraded = (np.broadcast_to(_nightly(each), shape) for each in (limits.fail, limits.degraded))
    intermittent = np.zeros(shape, dtype=bool)
    found = np.zeros(shape, dtype=np.int8)
    doubted = values < np.fmax(fail, degraded)
    at = np.nonzero(doubted)
    if len(at[0]):
        looks = np.sort([values[at], *seen.again(at)], axis=0)
        beyond = (looks < fail[at]).sum(axis=0)
        low = (beyond == 1) | (looks[1] < degraded[at])
        found[at], intermittent[at] = np.where(beyond > 1, FAIL, np.where(low, DEGRADED, PASS)), beyond == 1
        values[at] = np.where(beyond == 2, looks[0], looks[1])
    if seen.host == "own":
        often = np.array([each.path.kind in ("h2d", "d2h") for each in columns()])
        unsteady = (seen.medians < np.fmax(fail, degraded)) | (seen.medians < thresholds.LEAST_STEADINESS * values)
        found[(found == PASS) & often & unsteady & ~doubted] = DEGRADED
    return found, intermittent, replace(seen, values=values)


def _nightly(limits: np.ndarray) -> np.ndarray:
    return limits[:, None] if limits.ndim == 2 else limits


def fallen(seen: Measured, limits: Limits, found: np.ndarray) -> np.ndarray:
    """Where figures are FAIL or DEGRADED and unrelated paths of the host fell together: INDETERMINATE on a shared host."""
    bad = (found == FAIL) | (found == DEGRADED)
    falls = np.nan_to_num(1 - seen.values / _nightly(limits.value))
    told = np.zeros_like(bad)
    # Each check is judged by itself.
    host = np.array([each.path.check == "host_device_check" for each in columns()])
    for kind, flow in (("h2d", "n0:g"), ("d2h", ":n0")):
        lone = host & np.array([each.path.kind == kind for each in columns()])
        least, most = falls[:, :, lone].min(axis=2), falls[:, :, lone].max(axis=2)
        together = (bad[:, :, lone].sum(axis=2) > 1) & (most >= thresholds.LEAST_FALL) & (most <= thresholds.MOST_FALL)
        together &= least >= thresholds.TOGETHER * most
        told |= together[:, :, None] & host & np.array([flow in each.path.cell for each in columns()])
    for number, each in enumerate(columns()):
        one_way = ("n0:g" in each.path.cell) != (":n0" in each.path.cell)
        if each.path.check == "saturation_check" and one_way:
            # The simulated documents share a sum evenly among its flows.
            fell = bad[:, :, number, None] & (falls[:, :, number, None] <= thresholds.MOST_FALL)
            told |= fell & np.array([other.cell == each.cell for other in columns()])
    return told & bad
