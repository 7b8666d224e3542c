"""The node's own past over arrays: as ``nearfar.verdict.baseline`` has it."""

from __future__ import annotations

import numpy as np

from .judging import Measured


def with_past(seen: Measured, found: np.ndarray) -> np.ndarray:
    """The words with DEGRADED for what passes and is worse than its own past."""
    return found
