"""Bounds that judge nothing, or not what they seem to."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.verdict.references import ReferenceRow

from .complaints import WARNING, Complaint
from .rows import ReferenceTable

#: Times, and the size at which half of the largest rate is reached.
LESS_IS_BETTER = ("us", "ms", "s", "B")


def complaints(table: ReferenceTable) -> Iterator[Complaint]:
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
