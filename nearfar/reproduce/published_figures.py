"""The published figures of a row: each with its name, what measures it here, and how exact its source is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from nearfar.cells import Cell, parse, pretty

#: What may stand before a pattern of figures' names: which of those that it matches counts.
LEAST, GREATEST = "least", "greatest"
#: In the same place: what is lost of a rate where the times that it matches are so many times the better one's (by the median of
#: these ratios), and the median of the parts that rates have of what their memory carries at most.
LOSS, SHARE = "loss", "share"
#: In the same place: the mean of another row's figures, and what a part of the node carries at most, by the node type.
MEAN, PEAK = "mean row", "peak"
#: In the same place: how far the least of a figure's samples is below the greatest, as a part; the median of all that match.
SPREAD = "spread"
#: Keys of a row that have an entry for each of its values.
OF_VALUES = ("names", "cells", "metrics", "against", "units", "node_types")


@dataclass(frozen=True)
class MetricPattern:
    """Figures of a check by a pattern of their names: the median of all that match, or the ``least`` or ``greatest`` of them,
    or the ``loss`` of rate that a ratio of times means, or the ``share`` of what a memory carries at most; of results at one size by
    ``quantity:subject@bytes``. ``mean row``: the pattern is a row's number; ``peak``: a capacity's name."""

    pattern: str
    which: str = ""

    def __str__(self) -> str:
        """As a site's file has it."""
        return f"{self.which} {self.pattern}".strip()


@dataclass(frozen=True)
class Asked:
    """What a figure is made of: the sum of ``cells``, or figures by their ``metric``'s name. Neither: nothing measures it."""

    cells: tuple[Cell, ...] = ()
    metric: MetricPattern | None = None

    def __bool__(self) -> bool:
        """Whether anything measures it."""
        return bool(self.cells or self.metric)

    def __str__(self) -> str:
        """The cells, or the pattern."""
        return str(self.metric) if self.metric else " and ".join(map(str, self.cells))


@dataclass(frozen=True)
class PublishedFigure:
    """One figure of a row; ``value`` None: the source has a curve or words. With ``against`` the figure is what ``asked`` is below
    it, in percent or in another ``unit``. ``tolerance``: how far one may be from the value, in its unit, by its source; ``decimals``
    as printed; ``node_type``: the node that it is of."""

    name: str
    value: float | None
    asked: Asked = Asked()
    against: Asked = Asked()
    tolerance: float | None = None
    decimals: int = 0
    unit: str = ""
    node_type: str = ""


def figures(entry: Mapping[str, Any]) -> tuple[PublishedFigure, ...]:
    """The figures of a row of ``site/published/``; one for each value, or where there are none for each cell or pattern."""
    values: Sequence[float | None] = entry.get("values") or [None] * len(entry.get("cells", entry.get("metrics", ())))
    # A table whose source names a spread is printed with as many decimals throughout, of each node.
    types = entry.get("node_types") or [entry.get("node_type", "")] * len(values)
    most: dict[str, int] = {}
    for value, node_type in zip(values, types):
        most[node_type] = max(most.get(node_type, 0), 0 if value is None else _decimals(value))
    listed = []
    for place, value in enumerate(values):
        own = {key: entry[key][place] for key in OF_VALUES if key in entry}
        by_name = own.get("metrics") is not None
        asked = _asked(own["metrics"] if by_name else own.get("cells"), by_name)
        name = own.get("names") or ", ".join(map(pretty, asked.cells)) or str(asked)
        against = _asked(own.get("against"), by_name)
        decimals = 0 if value is None else most[types[place]] if "tolerance" in entry else _decimals(value)
        unit = own.get("units") or entry.get("unit", "")
        tolerance = _tolerance(value, entry.get("tolerance"))
        listed.append(PublishedFigure(name, value, asked, against, tolerance, decimals, unit, types[place]))
    return tuple(listed)


def _asked(entry: Any, by_name: bool) -> Asked:
    if entry is None:
        return Asked()
    if by_name:
        which, _, pattern = str(entry).rpartition(" ")
        return Asked(metric=MetricPattern(pattern, which))
    return Asked(tuple(map(parse, [entry] if isinstance(entry, str) else entry)))


def _tolerance(value: float | None, percent: float | None) -> float | None:
    """In the value's unit: ``percent`` of it, else half of its last digit as printed."""
    if value is None:
        return None
    if percent is not None:
        return abs(value) * percent / 100
    return 0.5 * 10.0 ** -_decimals(value)


def _decimals(value: float) -> int:
    """The digits behind the point that a value needs."""
    return max(0, -int(Decimal(repr(value)).normalize().as_tuple().exponent))
