"""The judge over arrays, whole: references, looks, paths that fall together, own past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import judging, past
from .judging import Measured
from .rules import Limits


@dataclass(frozen=True)
class Words:
    """The judge's ``words``, where DEGRADED is ``intermittent``, and where it is by the node's own ``past``, nodes × nights × columns."""

    words: np.ndarray
    intermittent: np.ndarray
    past: np.ndarray


def judged(seen: Measured, limits: Limits) -> Words:
    """What the judge says by references and own past."""
    found, intermittent = judging.by_references(seen, limits)
    found = judging.excused(seen, limits, found)
    words = past.with_past(seen, found)
    return Words(words, intermittent, words != found)
