"""Tuned rows have two bounds: beyond the one is FAIL, between it and the other DEGRADED. Read here, and computed for provisional rows
of older files, which have one (docs/method/limits.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .reference import Reference, with_unit
from .reference_row import ReferenceRow

#: Of a false FAIL of one figure of a healthy node in a night: one in 1,000 node-nights, shared over 100 figures.
_CHANCE = 1e-5
#: By a row's slack: the standard deviation of healthy figures from machine to machine.
_ASSUMED_SPREAD = {0.02: 0.02, 0.05: 0.03, 0.10: 0.05}
#: The widest bound: half of the value; twice of a time.
_WIDEST = {False: 0.5, True: 1.0}


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


def with_two_bounds(reference: Reference, row: ReferenceRow, tuned: Mapping[str, Any]) -> Reference:
    """A reference with the DEGRADED bound of its row. ``tuned`` is what the provenance says of the row and its file.

    A provisional row without that key has one bound, which is its slack: that is the DEGRADED bound. Beyond the FAIL bound the next
    figure of a healthy node lies with ``_CHANCE``, of machines that differ by what is assumed of such a slack, with the tail of an
    exponential.
    """
    if row.degraded is None:
        return _of_one_bound(reference, tuned) if tuned.get("provisional") else reference
    below, above = row.as_expected
    if row.degraded_above:
        return worded(replace(reference, degraded_above=above))
    return worded(replace(reference, degraded_below=below))


def _of_one_bound(reference: Reference, tuned: Mapping[str, Any]) -> Reference:
    factor = -math.log(2 * _CHANCE) * math.sqrt(1 + 1 / int(tuned["n"]))

    def widened(slack: float, less_is_better: bool) -> float:
        known = [each for each in _ASSUMED_SPREAD if each <= slack + 1e-9]
        away = factor * _ASSUMED_SPREAD[max(known, default=min(_ASSUMED_SPREAD))]
        return round(max(slack, min(_WIDEST[less_is_better], away)), 4)

    lower, upper = reference.lower, reference.upper
    return worded(
        replace(
            reference,
            lower=None if lower is None else -widened(-lower, False),
            upper=None if upper is None else widened(upper, True),
            degraded_below=reference.lowest,
            degraded_above=reference.highest,
        )
    )


def worded(reference: Reference) -> Reference:
    """A reference with its DEGRADED bounds in words."""
    ends = (("at least", reference.degraded_below), ("at most", reference.degraded_above))
    bounds = " and ".join(f"{word} {with_unit(end, reference.unit)}" for word, end in ends if end is not None)
    return replace(reference, degraded_words=f"{bounds} ({reference.origin_words})" if bounds else "")
