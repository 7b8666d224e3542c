"""A figure beside the node's history: a night that is clearly worse than it was, a step, a slow drift. Pure; where the past comes from
is not known here. The rule and its figures: docs/references.md."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

from nearfar.base import statistics
from nearfar.measurement import EXPLAINING, TIME_UNITS, AnyMetric, SubjectMetric
from nearfar.verdict.references import with_unit

from . import thresholds
from .words import level as level_words

_RATES = ("GB/s", "Mmsg/s", "GFLOP/s", "TFLOP/s")


class Night(NamedTuple):
    """A day's figure, in its unit (the median of the day's runs); ``day`` as 2026-11-01; ``healthy``: none of them was called worse."""

    day: str
    value: float
    healthy: bool = True


@dataclass(frozen=True)
class Baseline:
    """A figure in a node's own nights, the earliest first: ``values`` of the first healthy ones, at most ``BASELINE_NIGHTS``, from the day
    ``since`` on; ``later`` those after these, down to the one before now.

    ``changed``: what software is other now than on some of the nights (``driver 580 -> 590``), and ``anew`` the history since then; None
    where there is none. ``common``: what alike figures of the node have left of their baselines now, as a part (``common_factor``).
    ``host``: ``own`` or ``shared``.
    """

    values: tuple[float, ...]
    since: str
    later: tuple[Night, ...] = ()
    changed: str = ""
    anew: Baseline | None = None
    common: float = 1.0
    host: str = "own"

    @property
    def note(self) -> str | None:
        """What else a reader has to know of it; None: nothing."""
        common = f"the node's other figures of this kind are {100 * (1 - self.common):.1f} % worse as well"
        shown = abs(self.common - 1) >= thresholds.COMMON_SHOWN
        return "; ".join(filter(None, (common if shown else "", self.changed))) or None

    @property
    def median(self) -> float:
        """Of the baseline."""
        return statistics.median(self.values)


def of_nights(nights: Sequence[Night]) -> Baseline | None:
    """The baseline of nights in order; None where none was healthy."""
    healthy = [place for place, night in enumerate(nights) if night.healthy][: thresholds.BASELINE_NIGHTS]
    if not healthy:
        return None
    later = tuple(nights[healthy[-1] + 1 :]) if len(healthy) == thresholds.BASELINE_NIGHTS else ()
    return Baseline(tuple(nights[place].value for place in healthy), nights[healthy[0]].day, later)


@dataclass(frozen=True)
class Worsening:
    """How a figure is worse than its past. ``kind``: ``night`` (this one), ``step`` or ``drift``. ``now`` is the figure of the last
    nights in its unit, ``part`` how far it is off the baseline (0.01: 1 % worse); ``since``: about the day on which it began;
    ``weekly``: of a drift, the part that is lost in a week."""

    kind: str
    now: float
    part: float
    since: str | None = None
    weekly: float | None = None


def worsening(metric: AnyMetric, past: Baseline) -> Worsening | None:
    """How a figure is clearly worse than its past; None where it is not. Of a figure that did not settle the better end of its
    interval counts.

    What is neither rate nor time, or is derived from others, has no past; nor has a figure of fewer than five nights.
    """
    sign = 1 if metric.unit in _RATES else -1  # of a time more is worse
    known = metric.quantity not in EXPLAINING and metric.unit in (*_RATES, *TIME_UNITS) and past.median > 0
    better = max if sign > 0 else min
    value = metric.value if metric.converged or metric.interval is None else better(metric.interval)
    if not known or not math.isfinite(value) or len(past.values) < thresholds.FEWEST_NIGHTS:
        return None
    value = value / past.common if sign > 0 else value * past.common
    flows = () if isinstance(metric, SubjectMetric) else metric.cell.flows
    kind = "other" if metric.quantity != "copy" or not flows else "lone" if len(flows) == 1 else "windowed"
    # A small change of several GPUs' copies with the host at once is the host's, and nothing tells which.
    host_gpus = {gpu for flow in flows if flow.kind == "host" for gpu in flow.gpus}
    if len(host_gpus) < 2 and (slow := _slow(value, past, sign, kind)) is not None:
        return slow
    way = max(thresholds.ONE_NIGHT[kind] * past.median, thresholds.ONE_NIGHT_SPREADS * statistics.spread(past.values))
    if sign * value < min(sign * past.median - way, *(sign * night for night in past.values)):
        return Worsening("night", value, sign * (1 - value / past.median))
    return None


def words(metric: AnyMetric, past: Baseline, worse: Worsening) -> str:
    """How much worse, since when, and against which baseline; of fewer than ``BASELINE_NIGHTS`` nights they go on to now."""
    before = f"{with_unit(past.median, metric.unit)} ({len(past.values)} nights from {past.since} on)"
    note = f"; {past.note}" if past.note else ""
    if worse.kind == "night":
        return f"{level_words(metric)}, worse than its history: {before}{note}"
    changed = f"{100 * worse.part:.1f} % {'less' if metric.unit in _RATES else 'more'}"
    now = with_unit(worse.now, metric.unit)
    if worse.weekly is None:
        return f"{now} since about {worse.since}, {changed} than its history: {before}{note}"
    pace = f"{100 * worse.weekly:.2g} % a week"
    return f"{now} drifted from {before}, {changed}, since about {worse.since}, {pace}{note}"


def _slow(value: float, past: Baseline, sign: int, kind: str) -> Worsening | None:
    """What the sum over the nights since the baseline, and this one, says; None while the baseline is not whole."""
    if len(past.values) < thresholds.BASELINE_NIGHTS:
        return None
    allowed, sigma = level(past.values, sign, thresholds.NIGHT_FLOOR[kind])
    evidence, most, total = thresholds.EVIDENCE[past.host], thresholds.ONE_NIGHT_COUNTS, 0.0
    nights = [*(night.value for night in past.later), value]
    for night in nights:
        off = sign * (allowed - night) / sigma
        total = min(max(0.0, total + max(-most, min(most, off))), evidence + most)
    if total <= evidence:
        return None
    middle, last = past.median, statistics.median(nights[-thresholds.LAST_NIGHTS :])
    days = [date.fromisoformat(night.day) for night in past.later]
    days.append(days[-1] + timedelta(1))
    since, weekly = _began([sign * (middle - night) / middle for night in nights], days)
    return Worsening("step" if weekly is None else "drift", last, sign * (1 - last / middle), since, weekly)


def level(values: Sequence[float], sign: int, floor: float) -> tuple[float, float]:
    """What a night may have without being counted, and a night's deviation, in their unit: the third worst of a baseline's nights, as a
    node may sit at two levels, and no nearer to their median than the allowance. ``sign`` is 1 where more is better."""
    middle = statistics.median(values)
    sigma = max(statistics.spread(values), floor * middle)
    third = sorted(sign * night for night in values)[thresholds.WORST_KNOWN - 1]
    return sign * min(third, sign * middle - thresholds.ALLOWANCE_PER_NIGHT * sigma), sigma


def _began(off: Sequence[float], days: Sequence[date]) -> tuple[str, float | None]:
    """About when it began, and of a drift the part that is lost in a week: the step or the line from some night on that explains most
    of the sum of squares."""
    fits: list[tuple[float, date, float | None]] = []
    for start, first in enumerate(days):
        rest, weeks = off[start:], [(day - first).days / 7 for day in days[start:]]
        fits.append((math.fsum(rest) ** 2 / len(rest), first, None))
        rise, square = (math.fsum(map(operator.mul, weeks, each)) for each in (rest, weeks))
        if len(rest) > thresholds.LAST_NIGHTS and rise > 0:
            fits.append((rise**2 / square, first, rise / square))
    _, since, weekly = max(fits, key=lambda fit: fit[0])
    return since.isoformat(), weekly
