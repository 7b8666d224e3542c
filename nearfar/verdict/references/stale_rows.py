"""Tuned rows that were measured with other software: until a date they tell what is below its fleet, and nothing more. Pure.

What a fleet did when its software changed moves a row's bounds; where that is not known they are wider by an allowance
(docs/guide/driver-update.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from nearfar.verdict import thresholds

from . import software_changes
from .reference import Reference, with_unit
from .software_changes import Shift, Upgrade

#: How the bounds of a stale row came to be.
MOVED, WIDENED, AS_TUNED = "moved", "widened", "as tuned"


def judged(
    reference: Reference,
    then: Mapping[str, str],
    now: Mapping[str, str],
    tuned: date | None,
    shifts: Sequence[Shift],
    upgrade: Upgrade,
    lone: bool,
    broken: float | None,
) -> Reference:
    """A row's ``reference`` as it judges a figure that was measured with other software.

    ``then`` is the row's stamp, ``tuned`` its day (None: not known), ``now`` the software that ran; ``shifts`` are the row's own;
    ``lone``: it is of a copy alone; below ``broken``, in the reference's unit, a path is broken whatever the software (None: not
    known).
    """
    changed = software_changes.changes(then, now)
    old = software_changes.words({key: version for key, (version, _) in changed.items()})
    new = software_changes.words({key: version for key, (_, version) in changed.items()})
    first = software_changes.first_seen(upgrade, then, now, tuned)
    until = None if first is None else first + timedelta(days=upgrade.days)
    about = f"{reference.note}, with {old}"
    if until is not None and upgrade.today is not None and upgrade.today >= until:
        over = f"its {upgrade.days} days are over, it judges as any other: tune again (nearfar tune)"
        return _worded(replace(reference, note=f"{about}; {new} since {first}: {over}", stale_bounds=AS_TUNED), "", "")
    moved = software_changes.moved(shifts, then, now)
    if moved is not None:
        part, low, high, why = moved.part, moved.low, moved.high, moved.words(new)
        under, over = ", else it is below its fleet", ", else it is above its fleet"
    else:
        allowance = thresholds.LONE_ALLOWANCE if lone else thresholds.ALLOWANCE
        part, low, high = 0.0, -allowance, allowance
        under = over = f", else it is more than {new} is taken to explain"
        why = f"what {new} does to the fleet is not known (nearfar history --shifts), bounds are {allowance * 100:.0f} % wider"
    end = f"until {until}" if until is not None else "with no end, as no history says since when"
    below = reference.lowest if reference.degraded_below is None else reference.degraded_below
    above = reference.highest if reference.degraded_above is None else reference.degraded_above
    value = reference.value * (1 + part)
    if broken is not None:
        broken = None if reference.lowest is None else min(broken, reference.lowest)
    found = replace(
        reference, value=value, lower=None if broken is None else broken / value - 1, upper=None,
        degraded_below=None if below is None else below * (1 + low), degraded_above=None if above is None else above * (1 + high),
        note=f"{about}; {why}; stale {end}", stale_bounds=WIDENED if moved is None else MOVED,
    )  # fmt: skip
    return _worded(found, under, over)


def _worded(reference: Reference, under: str, over: str) -> Reference:
    """With the words of its DEGRADED bounds, if it has any."""
    ends = (("at least", reference.degraded_below, under), ("at most", reference.degraded_above, over))
    bounds = [f"{word} {with_unit(end, reference.unit)}{beyond}" for word, end, beyond in ends if end is not None]
    return replace(reference, degraded_words=f"{' and '.join(bounds)} ({reference.origin_words})" if bounds else "")
