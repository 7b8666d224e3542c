"""Tuned rows have two bounds: beyond the one is FAIL, between it and the other DEGRADED (docs/references.md)."""

from __future__ import annotations

import math
from dataclasses import replace

from .reference import Reference, with_unit
from .reference_row import ReferenceRow


def misplaced(row: ReferenceRow) -> str | None:
    """What is wrong with a row's DEGRADED bound, in words; None where nothing is, or it has none."""
    degraded = row.degraded
    if degraded is None:
        return None
    bound, side = (row.upper, "upper") if row.degraded_above else (row.lower, "lower")
    if bound is None:
        return f"degraded: {degraded:g} needs the {side} bound that it is inside of, and the row has none"
    if not math.isfinite(degraded):
        return f"degraded: {degraded} is no finite number; -0.02 is 2 % below the value"
    if abs(degraded) > abs(bound):
        return f"degraded: {degraded:g} is outside of the row's own bound {bound:g}, beyond which it is FAIL; swap them"
    return None


def with_two_bounds(reference: Reference, row: ReferenceRow) -> Reference:
    """A reference with the DEGRADED bound of its row, where the row has one."""
    if row.degraded is None:
        return reference
    below, above = row.as_expected
    if row.degraded_above:
        return worded(replace(reference, degraded_above=above))
    return worded(replace(reference, degraded_below=below))


def worded(reference: Reference) -> Reference:
    """A reference with its DEGRADED bounds in words."""
    ends = (("at least", reference.degraded_below), ("at most", reference.degraded_above))
    bounds = " and ".join(f"{word} {with_unit(end, reference.unit)}" for word, end in ends if end is not None)
    return replace(reference, degraded_words=f"{bounds} ({reference.origin_words})" if bounds else "")
