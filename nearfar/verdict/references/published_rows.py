"""Published rows: no figure is too good for them, and only the system that they were published of fails by them. Pure."""

from __future__ import annotations

from dataclasses import replace

from nearfar.measurement import RATIO_UNIT, TIME_UNITS

from . import few_nodes
from .reference import Reference


def judged(reference: Reference, own: bool, broken: float | None) -> Reference:
    """A published row's ``reference`` as it judges a measured figure.

    ``own``: the figures were published of the system that ran. Of another machine of its type they say what is usual, and nothing
    fails but what is below ``broken``, in the reference's unit (None: not known).
    """
    ratio = reference.unit == RATIO_UNIT
    if ratio and own:
        return reference
    # Of a ratio that has both bounds the lower one is of the worse side.
    less_is_better = reference.unit in TIME_UNITS or (ratio and reference.lower is None)
    reference = replace(
        reference, lower=None if less_is_better else reference.lower, upper=reference.upper if less_is_better else None
    )
    if own:
        return reference
    usual = reference.lowest, reference.highest
    lower = None if broken is None else min(broken / reference.value - 1, reference.lower or 0.0)
    note = f"{reference.note}; of another system"
    found = replace(reference, lower=lower, upper=None, degraded_below=usual[0], degraded_above=usual[1], note=note)
    return few_nodes.worded(found)
