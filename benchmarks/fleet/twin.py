"""The judge over arrays, whole: references, looks, paths that fall together, own past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import judging, past
from .judging import INDETERMINATE, Measured
from .rules import Limits


@dataclass(frozen=True)
class Words:
    """The judge's ``words``, where DEGRADED is ``intermittent``, where it is by the node's own ``past``, and where paths have ``fallen``
    together, nodes × nights × columns."""

    words: np.ndarray
    intermittent: np.ndarray
    past: np.ndarray
    fallen: np.ndarray


def judged(seen: Measured, limits: Limits) -> Words:
    """What the judge says by references and own past."""
    found, intermittent, seen = judging.by_references(seen, limits)
    fallen = judging.fallen(seen, limits, found)
    if seen.host == "shared":
        found = np.where(fallen, INDETERMINATE, found).astype(np.int8)
    words = past.with_past(seen, found)
    return Words(words, intermittent, words != found, fallen)
