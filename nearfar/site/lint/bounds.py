"""Bounds that judge nothing, or not what they seem to, and rows that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.verdict.references import ReferenceRow, row_name

from .complaints import WARNING, Complaint
from .rows import ReferenceTable

#: By so much a far path may seem faster than the near one, or both directions than twice one, beside the rows' own bounds.
TOLERANCE = 0.02
_FAR = ("off_socket", "on_socket")
#: The class that stands in the far one's place, for copies and for STREAM.
_NEAR = ("near", "local")
#: Times, and the size at which half of the largest rate is reached.
_LESS_IS_BETTER = ("us", "ms", "s", "B")


def complaints(table: ReferenceTable) -> Iterator[Complaint]:
    """What is odd about the bounds of each row, and about rows beside each other."""
    for row in table.rows.values():
        words = _of_bounds(row)
        if words is not None:
            yield table.complaint(WARNING, "bounds", words, row)
        for words in (_far_above_near(table, row), _ratio_of_others(table, row), _sum(table, row)):
            if words is not None:
                yield table.complaint(WARNING, "contradiction", words, row)


def _of_bounds(row: ReferenceRow) -> str | None:
    penalty = "penalty" in row.name
    less_is_better = row.unit in _LESS_IS_BETTER or penalty
    if row.lower is None and row.upper is None:
        return "neither bound: it judges nothing, and accepts nothing"
    if less_is_better and row.upper is None:
        return "no upper bound: nothing is too slow; give one, such as 0.1 for 10 % above"
    if not less_is_better and row.lower is None and row.unit != "1":
        return "no lower bound: nothing is too slow; give one, such as -0.05 for 5 % below"
    if row.lower is not None and row.lower <= -0.5 and not less_is_better:
        accepted = "everything" if row.lower == -1 else f"{1 + row.lower:.0%} of the value"
        return f"lower bound {row.lower:g} accepts {accepted}"
    if row.upper is not None and row.upper > 1 and not penalty:
        return f"upper bound {row.upper:g} is {1 + row.upper:g} times the value; in per cent? {row.upper / 100:g}"
    return None


def _far_above_near(table: ReferenceTable, row: ReferenceRow) -> str | None:
    if row.path_class not in _FAR or (row.question and not row.question.startswith("latency")):
        return None
    for name in _NEAR:
        near = table.rows.get(row_name(name, row.question, row.figure))
        if near is None or near.unit != row.unit:
            continue
        over = row.value / near.value
        better = 1 / over if row.unit in _LESS_IS_BETTER else over
        if better > 1 + _tolerance(near):
            words = "faster than" if row.unit in _LESS_IS_BETTER else "above"
            return f"{row.value:g} {row.unit} is {words} {near.name}, {near.value:g}; swapped?"
    return None


def _ratio_of_others(table: ReferenceTable, row: ReferenceRow) -> str | None:
    if row.question != "over_near":
        return None
    far, near = (table.rows.get(row_name(name, "", row.figure)) for name in (row.path_class, "near"))
    if far is not None and near is not None:
        ratio = far.value / near.value
        slack = _tolerance(row) + _tolerance(far) + _tolerance(near)
        if abs(row.value / ratio - 1) > slack:
            return f"{row.value:g}, but {far.name} over {near.name} is {ratio:.3g}"
        return None
    if row.value > 1 + _tolerance(row) and row.lower is not None:
        return f"{row.value:g}: a far path above the near one; turned round?"
    return None


def _sum(table: ReferenceTable, row: ReferenceRow) -> str | None:
    if row.figure != "both.total":
        return None
    first = row.name.partition(".")[0]
    directions = [table.rows.get(f"{first}.{direction}") for direction in ("h2d", "d2h")]
    written = table.rows.get(f"{first}.write")
    singles = [each.value for each in (directions if any(directions) else [written]) if each is not None]
    if not singles:
        return None
    most = sum(singles) if len(singles) == 2 else 2 * singles[0]
    if row.value > most * (1 + TOLERANCE):
        return f"{row.value:g} GB/s of both directions is above the two alone, {most:g} GB/s together"
    return None


def _tolerance(row: ReferenceRow) -> float:
    return max([TOLERANCE, *(abs(float(bound)) for bound in (row.lower, row.upper) if bound is not None)])
