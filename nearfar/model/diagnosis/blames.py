"""A part that is blamed, and by how much it is degraded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from . import thresholds
from .parts import Part


@dataclass(frozen=True)
class DegradedPart:
    """A degraded part: its capacities times ``factor`` (``low`` to ``high``: 95 %). ``now`` has each capacity's value
    in GB/s, ``healthy`` what the factor counts from; for ``unknown`` ones, whose own value nobody knows, that is the
    most that healthy cells ask."""

    part: Part
    factor: float
    low: float
    high: float
    now: Mapping[str, float]
    healthy: Mapping[str, float]
    unknown: tuple[str, ...]

    @property
    def certain(self) -> bool:
        """Whether its factor is known well enough to call it degraded."""
        return self.high <= thresholds.SLIGHT and self.high - self.low <= thresholds.WIDEST
