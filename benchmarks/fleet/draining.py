"""``nearfar slurm act`` over arrays: which slow figures are confirmed, which nodes are drained for them.

Slow figures alone: hard evidence is not simulated. A run a night, every night.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.site import Policy
from nearfar.slurm.ledger.runs import general
from nearfar.verdict import thresholds

from .columns import columns
from .judging import DEGRADED, FAIL, INDETERMINATE
from .twin import Words

_DAY = 86400.0


@dataclass(frozen=True)
class Drained:
    """``confirmed``: nodes × nights on which a figure stands and is not everybody's; ``drained``: on which the node was drained,
    within the cap of a day."""

    confirmed: np.ndarray
    drained: np.ndarray


def counted(words: np.ndarray, intermittent: np.ndarray, fallen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The words and intermittent nights that count: not those of paths that fell together, nor those of host memory in the other checks
    of the run."""
    told = fallen.copy()
    checks = np.array([each.path.check for each in columns()])
    kinds = np.array([each.path.kind for each in columns()])
    for kind, flow in (("h2d", "n0:g"), ("d2h", ":n0")):
        crosses = (kinds == "stream") | np.array([flow in each.path.cell for each in columns()])
        for check in dict.fromkeys(checks[kinds == kind]):
            fell = fallen[:, :, (checks == check) & (kinds == kind)].any(axis=2)
            told |= fell[:, :, None] & crosses & (checks != check)
    return np.where(told & (words == FAIL), INDETERMINATE, words), intermittent & ~told


def broken_hosts(words: np.ndarray, fallen: np.ndarray, host: str) -> np.ndarray:
    """On which nights paths of an own host have fallen together for so many nights that it is broken, nodes × nights, for two nights."""
    found = np.zeros(words.shape[:2], dtype=bool)
    days = thresholds.HOST_BROKEN + 1
    fell = fallen.any(axis=2) & (host == "own")
    for night in range(days - 1, words.shape[1]):
        found[:, night] = fell[:, night + 1 - days : night + 1].all(axis=1)
    return found


def confirmed(words: np.ndarray, intermittent: np.ndarray, policy: Policy) -> np.ndarray:
    """The columns whose FAIL stands, of words that are ``counted``: by the night's and that of the night before it that was judged, or
    by so many of the last nights on which the figure was beyond its bound, in some looks at least."""
    nodes, nights, count = words.shape
    found = np.zeros(words.shape, dtype=bool)
    before = np.zeros((nodes, count), dtype=bool)
    when = np.full((nodes, count), -np.inf)
    slow = (words == FAIL) | (intermittent & (words == DEGRADED))
    rule, by_nights = policy.intermittent, np.zeros((nodes, count), dtype=bool)
    for night in range(nights):
        failed, judged = words[:, night] == FAIL, words[:, night] != INDETERMINATE
        found[:, night] = failed & before & (night - when <= policy.confirm_within / _DAY)
        if rule is not None:
            often = slow[:, max(0, night + 1 - rule.of) : night + 1].sum(axis=1) >= rule.nights
            # What stands by nights does so until its last FAIL is too old.
            fresh = by_nights & ~failed if policy.max_age > _DAY else False
            by_nights = failed & often
            found[:, night] |= by_nights | fresh
        before, when = np.where(judged, failed, before), np.where(judged, night, when)
    return found


def drains(made: Words, host: str, policy: Policy) -> Drained:
    """What ``act`` does night by night. A drained node is back the next night, and a person lifts a reached cap then."""
    nodes, nights, _ = made.words.shape
    words, intermittent = counted(made.words, made.intermittent, made.fallen)
    standing = confirmed(words, intermittent, policy) & ~_everybodys(words, policy)
    candidates = standing.any(axis=2) | broken_hosts(made.words, made.fallen, host)
    most = min(policy.per_day.nodes, policy.per_day.of(nodes))
    drained = np.zeros_like(candidates)
    for night in range(nights):
        named = np.nonzero(candidates[:, night])[0]
        drained[named[:most], night] = True
    return Drained(candidates, drained)


def _everybodys(words: np.ndarray, policy: Policy) -> np.ndarray:
    """The columns that fail on so many nodes at once that it is not the nodes."""
    nodes = len(words)
    names = [(each.path.check, general(each.figure)) for each in columns()]
    found = np.zeros(words.shape, dtype=bool)
    for name in dict.fromkeys(names):
        own = np.array([other == name for other in names])
        failing = (words[:, :, own] == FAIL).any(axis=2).sum(axis=0)
        shared = (failing >= max(policy.same_metric.nodes, 2)) & (failing >= policy.same_metric.share * nodes)
        found |= shared[None, :, None] & own
    return found
