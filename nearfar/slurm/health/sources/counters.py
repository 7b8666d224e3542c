"""Counters that only grow, held against the node's last look and its own past. Pure.

A first look, and the first after a boot, only establishes what the counters are. A counter that went back (a driver that was
loaded again, somebody who reset it) is told and established anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .source import Now

#: Growth below which no rate is called unusual.
LEAST = 10
#: How many times its own past's rate is unusual.
TIMES = 10.0
#: Seconds of its own past before a rate is compared with it.
ENOUGH = 86400.0
#: Seconds of past after which the older half of it counts half.
_LONG = 30 * 86400.0


@dataclass(frozen=True)
class Growth:
    """What counters grew by since the last look, ``seconds`` ago. ``unusual``: of those that grew unusually, errors an hour that
    are usual. ``back``: those that went back. ``past``: to be kept."""

    seconds: float
    grown: Mapping[str, int] = field(default_factory=dict)
    unusual: Mapping[str, float] = field(default_factory=dict)
    back: tuple[str, ...] = ()
    past: Mapping[str, Any] = field(default_factory=dict)

    def per_minute(self, key: str) -> float:
        """The rate of a counter's growth; a look within less than a minute counts as a whole one."""
        return self.grown.get(key, 0) / max(self.seconds / 60.0, 1.0)

    def unusually(self, key: str) -> dict[str, Any]:
        """The fields of a counter that grew unusually: errors, their rate, and the usual one (an hour)."""
        errors = self.grown[key]
        return {"errors": errors, "rate": errors / max(self.seconds / 3600.0, 1e-9), "usual": self.unusual[key]}

    def went_back(self, of: str) -> bool:
        """Whether any counter of this device went back."""
        return any(key.startswith(f"{of} ") for key in self.back)


def growth(now: Now, counters: Mapping[str, int], lifetime: bool = False) -> Growth:
    """What ``counters`` say after those of ``now.past``. ``lifetime``: they outlast a boot."""
    before, rates = _numbers(now.past.get("counters")), _pairs(now.past.get("rates"))
    seconds = max(0.0, now.at - _number(now.past.get("at"))) if now.same_boot else max(0.0, now.at)
    if not now.same_boot and not lifetime:
        return Growth(seconds, past={"counters": dict(counters), "rates": rates})
    grown, unusual, back = {}, {}, []
    for key, value in counters.items():
        if key not in before:
            continue
        if value < before[key]:
            back.append(key)
            continue
        grown[key] = value - before[key]
        count, over = rates.get(key, [0.0, 0.0])
        usual = (count + 1.0) / over if over >= ENOUGH else None
        if usual is not None and grown[key] >= LEAST and seconds > 0 and grown[key] / seconds > TIMES * usual:
            unusual[key] = usual * 3600.0
            continue
        if over > _LONG:
            count, over = count / 2, over / 2
        rates[key] = [count + grown[key], over + seconds]
    kept = {**{key: value for key, value in before.items() if key not in counters}, **counters}
    return Growth(seconds, grown, unusual, tuple(back), {"counters": kept, "rates": rates})


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def _numbers(value: object) -> dict[str, int]:
    return {key: n for key, n in value.items() if isinstance(n, int)} if isinstance(value, dict) else {}


def _pairs(value: object) -> dict[str, list[float]]:
    if not isinstance(value, dict):
        return {}
    return {k: [_number(v[0]), _number(v[1])] for k, v in value.items() if isinstance(v, list) and len(v) == 2}
