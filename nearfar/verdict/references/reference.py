"""What a figure should be: the expected value, its bounds, and how that is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Reference:
    """What a figure should be. ``lower`` and ``upper`` are fractions of ``value``, as ReFrame has them (None: no bound).

    Outside of them is FAIL; below ``degraded_below`` or above ``degraded_above`` (in ``unit``) DEGRADED, and ``degraded_words`` say what
    that is. ``stale``: measured with other software; ``stale_bounds`` says how the bounds came to be then: ``moved`` with the fleet, or
    ``widened`` by an allowance. ``accepts``: whether what passes it is as it should be; False where it only tells what is broken, or unlike
    its like.
    """

    value: float
    lower: float | None
    upper: float | None
    unit: str
    origin: str
    note: str
    degraded_below: float | None = None
    degraded_words: str = ""
    stale: bool = False
    file: str | None = None
    degraded_above: float | None = None
    accepts: bool = True
    stale_bounds: str | None = None

    @property
    def lowest(self) -> float | None:
        """The least good value, by the same arithmetic as ReFrame's."""
        return None if self.lower is None else self.value * (1 + self.lower)

    @property
    def boundless(self) -> bool:
        """Whether no value could be outside of it."""
        bounds = self.lower, self.upper, self.degraded_below, self.degraded_above
        return all(bound is None for bound in bounds)

    @property
    def origin_words(self) -> str:
        """``tuned, stale: 55.5 GB/s; tuned 2026-11-20, n = 12``."""
        stale = ", stale" if self.stale else ""
        return f"{self.origin}{stale}: {with_unit(self.value, self.unit)}; {self.note}"

    @property
    def highest(self) -> float | None:
        """The greatest good value."""
        return None if self.upper is None else self.value * (1 + self.upper)

    def worded(self) -> Reference:
        """The same with its DEGRADED bounds in words."""
        ends = (("at least", self.degraded_below), ("at most", self.degraded_above))
        bounds = " and ".join(f"{word} {with_unit(end, self.unit)}" for word, end in ends if end is not None)
        return replace(self, degraded_words=f"{bounds} ({self.origin_words})" if bounds else "")


#: More digits than so many tell no figure from its bound.
_MOST_MORE = 6


def figure(value: float, unit: str, more: int = 0) -> str:
    """A figure as people read it: three digits at least, and ``more`` decimals."""
    decimals = 3 if unit == "1" else 1 if abs(value) >= 10 else 2
    return f"{value:.{decimals + more}f}"


def with_unit(value: float, unit: str, more: int = 0) -> str:
    """The same with its unit: ``54.1 GB/s``; a ratio has none."""
    return figure(value, unit, more) + ("" if unit == "1" else f" {unit}")


def more_digits(values: Iterable[float], bounds: Iterable[float | None], unit: str) -> int:
    """How many more digits a sentence needs in which no value may read as a bound that it differs from: 46.2 and at least 46.2."""
    pairs = [(value, bound) for bound in bounds if bound is not None for value in values if value != bound]
    same = (
        any(figure(v, unit, more=more) == figure(b, unit, more=more) for v, b in pairs) for more in range(_MOST_MORE)
    )
    return next((more for more, equal in enumerate(same) if not equal), 0)
