"""Values beyond what a figure can be (``nearfar.verdict.plausibility``), and the unit that they may be typed in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nearfar.verdict import plausibility

from .complaints import ERROR

#: By unit the factor that makes a right value of one that is too great, and what was typed; of one too small, the unit.
_TYPED = {"GB/s": (1000, "MB/s", "TB/s"), "us": (1000, "ns", "ms"), "1": (100, "per cent", "")}


class UnitFault(NamedTuple):
    """What is wrong with a value."""

    level: str
    rule: str
    message: str


def beyond(value: float, unit: str, limits: plausibility.Limits) -> UnitFault | None:
    """What is wrong with a value beyond its limits, with the unit that would explain it."""
    excess = plausibility.excess(value, unit, limits)
    if excess is None:
        return None
    hint = ""
    if unit in _TYPED:
        factor, above, below = _TYPED[unit]
        too_much = value > limits.most
        right, typed = (value / factor, above) if too_much else (value * factor, below)
        # A share of 1.02 is no percentage.
        if typed and limits.least <= right <= limits.most and (unit != "1" or value > 2):
            hint = f"; typed in {typed}? that is {_amount(right, unit)}"
    return UnitFault(ERROR, "magnitude", f"{_amount(value, unit)} is {excess}{hint}")


def _amount(value: float, unit: str) -> str:
    return f"{value:g}{'' if unit == '1' else f' {unit}'}".replace(" us", " µs")


def meant(value: float, right: float, guesses: Iterable[tuple[float, str]]) -> str:
    """What else may have been meant by ``value`` where ``right`` GB/s would be the most: the first factor that makes a
    right value of it. Empty where none does."""
    for factor, guess in guesses:
        if 0.85 * right <= value * factor <= 1.01 * right:
            return f"; {guess} that is {value * factor:.4g} GB/s"
    return ""
