"""Bounds that judge nothing, or not what they seem to, and rows that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .complaints import WARNING, Complaint
from .rows import ReferenceTable

#: By so much a far path may seem faster than the near one, or both directions than twice one, beside the rows' own bounds.
TOLERANCE = 0.02
_FAR = ("off_socket", "on_socket")
#: The class that stands in the far one's place, for copies and for STREAM.
_NEAR = ("near", "local")
#: Times, and the size at which half of the largest rate is reached.
_LESS_IS_BETTER = ("us", "ms", "s", "B")
_OVER_NEAR = "_over_near"


def complaints(table: ReferenceTable) -> Iterator[Complaint]:
    """What is odd about the bounds of each row, and about rows beside each other."""
    for row, values in table.rows.items():
        words = _of_bounds(values, penalty="penalty" in row)
        if words is not None:
            yield table.complaint(WARNING, "bounds", words, row)
        for words in (
            _far_above_near(table, row, values),
            _ratio_of_others(table, row, values),
            _sum(table, row, values),
        ):
            if words is not None:
                yield table.complaint(WARNING, "contradiction", words, row)


def _of_bounds(values: Sequence[Any], penalty: bool) -> str | None:
    _, lower, upper, unit = values
    less_is_better = unit in _LESS_IS_BETTER or penalty
    if lower is None and upper is None:
        return "neither bound: it judges nothing, and accepts nothing"
    if less_is_better and upper is None:
        return "no upper bound: nothing is too slow; give one, such as 0.1 for 10 % above"
    if not less_is_better and lower is None and unit != "1":
        return "no lower bound: nothing is too slow; give one, such as -0.05 for 5 % below"
    if lower is not None and lower <= -0.5 and not less_is_better:
        return f"lower bound {lower:g} accepts {'everything' if lower == -1 else f'{1 + lower:.0%} of the value'}"
    if upper is not None and upper > 1 and not penalty:
        return f"upper bound {upper:g} is {1 + upper:g} times the value; in per cent? {upper / 100:g}"
    return None


def _far_above_near(table: ReferenceTable, row: str, values: Sequence[Any]) -> str | None:
    path_class, _, rest = row.partition(".")
    far = next((each for each in _FAR if path_class == each or path_class.startswith(f"{each}_latency")), None)
    if far is None:
        return None
    for name in _NEAR:
        near = table.rows.get(f"{path_class.replace(far, name)}.{rest}")
        if near is None or near[3] != values[3]:
            continue
        over = values[0] / near[0]
        better = 1 / over if values[3] in _LESS_IS_BETTER else over
        if better > 1 + _tolerance(near):
            words = "faster than" if values[3] in _LESS_IS_BETTER else "above"
            return f"{values[0]:g} {values[3]} is {words} {path_class.replace(far, name)}.{rest}, {near[0]:g}; swapped?"
    return None


def _ratio_of_others(table: ReferenceTable, row: str, values: Sequence[Any]) -> str | None:
    path_class, _, rest = row.partition(".")
    if not path_class.endswith(_OVER_NEAR):
        return None
    far, near = table.rows.get(f"{path_class[: -len(_OVER_NEAR)]}.{rest}"), table.rows.get(f"near.{rest}")
    if far is not None and near is not None:
        ratio = far[0] / near[0]
        slack = _tolerance(values) + _tolerance(far) + _tolerance(near)
        if abs(values[0] / ratio - 1) > slack:
            return f"{values[0]:g}, but {path_class[: -len(_OVER_NEAR)]}.{rest} over near.{rest} is {ratio:.3g}"
        return None
    if values[0] > 1 + _tolerance(values) and values[1] is not None:
        return f"{values[0]:g}: a far path above the near one; turned round?"
    return None


def _sum(table: ReferenceTable, row: str, values: Sequence[Any]) -> str | None:
    path_class, _, rest = row.partition(".")
    if rest != "both.total":
        return None
    ways = [table.rows.get(f"{path_class}.{way}") for way in ("h2d", "d2h")]
    written = table.rows.get(f"{path_class}.write")
    singles = [each[0] for each in (ways if any(ways) else [written]) if each is not None]
    if not singles:
        return None
    most = sum(singles) if len(singles) == 2 else 2 * singles[0]
    if values[0] > most * (1 + TOLERANCE):
        return f"{values[0]:g} GB/s of both directions is above the two alone, {most:g} GB/s together"
    return None


def _tolerance(values: Sequence[Any]) -> float:
    return max([TOLERANCE, *(abs(float(bound)) for bound in values[1:3] if bound is not None)])
