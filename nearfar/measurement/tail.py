"""The times of many transfers of a path, each timed by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Tail:
    """``count`` transfers of a path, each timed by itself: percentiles of the times and the worst, in microseconds.

    ``worst_at``: when the worst began, in seconds since the run began; ``worst_visit``: in which visit, from 1 on.
    """

    count: int
    p50: float
    p99: float
    p99_9: float
    worst: float
    worst_at: float
    worst_visit: int

    @property
    def worst_over_p50(self) -> float:
        """How many times as long as the median transfer the slowest took."""
        return self.worst / self.p50


def tail_of(entry: Mapping[str, Any]) -> Tail:
    """A valid document's ``tail``."""
    return Tail(**{field.name: entry[field.name] for field in fields(Tail)})
