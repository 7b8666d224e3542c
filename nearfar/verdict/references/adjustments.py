"""References as they judge figures of another system than they were published of, and of a host that others share. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from nearfar.measurement import RATIO_UNIT, TIME_UNITS, AnyMetric
from nearfar.model import link_limits
from nearfar.verdict import thresholds

from .reference import Reference


def as_published(reference: Reference, own: bool, broken: float | None) -> Reference:
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
    return found.worded()


def on_host(
    found: Mapping[str, Reference | None], figures: Iterable[AnyMetric], host: str
) -> dict[str, Reference | None]:
    """The references of figures by name. On a ``shared`` host those of single transfers (``tail_p99``, ``tail_worst``) have no FAIL
    bound: beyond it a figure is DEGRADED."""
    if host != "shared":
        return dict(found)
    tails = {metric.name for metric in figures if metric.derived.startswith("tail_")}
    softened = dict(found)
    for name, reference in found.items():
        if name in tails and reference is not None and reference.highest is not None:
            above = reference.highest if reference.degraded_above is None else reference.degraded_above
            softened[name] = replace(reference, upper=None, degraded_above=above).worded()
    return softened


def of_one_measurement(found: Mapping[str, Reference | None]) -> dict[str, Reference | None]:
    """The references of figures by name, as they judge what cannot be measured again: tuned limits are of the middle one of three
    measurements, which lies nearer to the value than a single one. Half of the value stays a FAIL."""
    return {name: each if each is None or each.origin != "tuned" else _wider(each) for name, each in found.items()}


def _wider(tuned: Reference) -> Reference:
    part, value, least = thresholds.MIDDLE_OF_THREE, tuned.value, link_limits.BROKEN - 1
    below, above = tuned.degraded_below, tuned.degraded_above
    return replace(
        tuned,
        lower=tuned.lower and min(tuned.lower, max(least, tuned.lower / part)),
        upper=tuned.upper and tuned.upper / part,
        degraded_below=below and value - (value - below) / part,
        degraded_above=above and value + (above - value) / part,
        note=f"{tuned.note}, wider for one measurement",
    ).worded()
