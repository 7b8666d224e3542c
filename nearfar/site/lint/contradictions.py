"""Rows of one table that contradict each other, and bounds that judge nothing, or not what they seem to."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.verdict.references import ReferenceRow, row_name

from .complaints import WARNING, Complaint
from .rows import ReferenceTable

#: Times, and the size at which half of the largest rate is reached.
LESS_IS_BETTER = ("us", "ms", "s", "B")


def bounds_complaints(table: ReferenceTable) -> Iterator[Complaint]:
    """What is odd about the bounds of each row."""
    for row in table.rows.values():
        fault = _of_bounds(row)
        if fault is not None:
            yield table.complaint(WARNING, "bounds", fault, row)


def _of_bounds(row: ReferenceRow) -> str | None:
    # What a disturbance adds may be many times the value.
    added = "penalty" in row.name or row.question in ("tail_worst", "tail_p99")
    lower, upper = row.inner
    less_is_better = row.unit in LESS_IS_BETTER or added
    if row.lower is None and row.upper is None:
        if "spread" in row.provenance:  # nearfar tune found that its healthy runs reach what would certainly be broken
            return None
        return "no bound: the row judges nothing, and accepts no node"
    if less_is_better and row.upper is None:
        return "no upper bound: nothing is too slow; give one, such as 0.1 for 10 % above"
    if not less_is_better and row.lower is None and row.unit != "1":
        return "no lower bound: nothing is too slow; give one, such as -0.05 for 5 % below"
    if lower is not None and lower <= -0.5 and not less_is_better:
        accepted = "everything" if lower == -1 else f"{1 + lower:.0%} of the value"
        return f"lower bound {lower:g} accepts {accepted}"
    if upper is not None and upper > 1 and not added:
        return f"upper bound {upper:g} is {1 + upper:g} times the value; in per cent? {upper / 100:g}"
    return None


#: By so much a far path may seem faster than the near one, or both directions than twice one, beside the rows' own bounds.
TOLERANCE = 0.02
_FAR = ("off_socket", "on_socket")
#: The class that stands in the far one's place, for copies and for STREAM.
_NEAR = ("near", "local")


def complaints(table: ReferenceTable) -> Iterator[Complaint]:
    """What is odd about rows beside each other."""
    for row in table.rows.values():
        for contradiction in (_far_above_near(table, row), _ratio_of_others(table, row), _sum(table, row)):
            if contradiction is not None:
                yield table.complaint(WARNING, "contradiction", contradiction, row)


def _far_above_near(table: ReferenceTable, row: ReferenceRow) -> str | None:
    if row.path_class not in _FAR or (row.question and not row.question.startswith("latency")):
        return None
    for name in _NEAR:
        near = table.rows.get(row_name(name, row.question, row.figure))
        if near is None or near.unit != row.unit:
            continue
        over = row.value / near.value
        better = 1 / over if row.unit in LESS_IS_BETTER else over
        if better > 1 + _tolerance(near):
            comparison = "faster than" if row.unit in LESS_IS_BETTER else "above"
            return f"{row.value:g} {row.unit} is {comparison} {near.name}, {near.value:g}; swapped?"
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
        return f"{row.value:g}: the far path is above the near one; are they swapped?"
    return None


def _sum(table: ReferenceTable, row: ReferenceRow) -> str | None:
    if row.figure != "both.total":
        return None
    first = row.name.partition(".")[0]
    directions = [table.rows.get(f"{first}.{direction}") for direction in ("h2d", "d2h")]
    written = table.rows.get(f"{first}.write")
    singles = [row.value for row in (directions if any(directions) else [written]) if row is not None]
    if not singles:
        return None
    most = sum(singles) if len(singles) == 2 else 2 * singles[0]
    if row.value > most * (1 + TOLERANCE):
        return f"{row.value:g} GB/s of both directions is above the two measured alone, {most:g} GB/s in total"
    return None


def _tolerance(row: ReferenceRow) -> float:
    return max([TOLERANCE, *(abs(float(bound)) for bound in row.inner if bound is not None)])
