"""What a tune proposes for one reference file: its new text, the limits behind it, and what was refused or kept, and why."""

from __future__ import annotations

import difflib
import io
import math
import shlex
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nearfar.base import day_text, grouped
from nearfar.model.prediction import NodeType
from nearfar.verdict import thresholds
from nearfar.verdict.references import (
    ReferenceFile,
    ReferenceRow,
    RowPlace,
    fastest_links,
    figure,
    place_key,
    software_changes,
    with_unit,
)

from . import limits, reference_text
from .limits import Budget, TunedLimit, budget, chances, figures_of_a_node
from .reference_text import CurrentFile
from .samples import ChosenSamples, Pool


@dataclass(frozen=True)
class TuneOptions:
    """What a user chose, and the command that was typed."""

    allow_looser: bool
    command: Sequence[str]


@dataclass(frozen=True)
class Proposal:
    """``tuned`` are the new limits by place; ``refused`` and ``kept`` say why a pool has no new one.

    ``looser`` has, by change of software (``driver 580.95 -> 590.12``), by which part of today's limit (-0.015: 1.5 % less, of times
    more) those of ``tuned`` are looser that were tuned with the software of before. ``accepted`` has by which part the values of
    ``tuned`` are worse than the last that were accepted, where ``--allow-looser`` accepts them; ``bounds_accepted`` the same of their
    FAIL bounds (-1: there is none any more).
    """

    today: CurrentFile
    text: str
    tuned: Mapping[RowPlace, TunedLimit]
    refused: Mapping[RowPlace, str]
    kept: Mapping[RowPlace, str]
    budget: Budget
    looser: Mapping[str, Mapping[RowPlace, float]] = field(default_factory=dict)
    accepted: Mapping[RowPlace, float] = field(default_factory=dict)
    bounds_accepted: Mapping[RowPlace, float] = field(default_factory=dict)

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where there is none."""
        before = str(self.today.path) if self.today.text else "/dev/null"
        old, new = (list(io.StringIO(text, newline="\n")) for text in (self.today.text, self.text))
        lines = difflib.unified_diff(old, new, before, str(self.today.into))
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def propose(
    chosen: ChosenSamples,
    today: CurrentFile,
    published: Sequence[ReferenceFile],
    node_types: Sequence[NodeType],
    how: TuneOptions,
) -> Proposal:
    """A proposal for one file. ``published`` are the files of published values, which a tuned limit is no looser than."""
    places, refused = _places(chosen.pools, today)
    tuned: dict[RowPlace, TunedLimit] = {}
    kept: dict[RowPlace, str] = {}
    looser: dict[str, dict[RowPlace, float]] = {}
    accepted: dict[RowPlace, float] = {}
    bounds_accepted: dict[RowPlace, float] = {}
    changed: dict[RowPlace, ReferenceRow] = {}
    stamped = {"date": day_text(chosen.last), "stamp": dict(chosen.stamp)}
    known = [place for place in today.rows if place not in places and (place[0], place[2]) not in chosen.elsewhere]
    figures = figures_of_a_node(chosen.pools) + len(known)
    allowed = chances(figures)
    for place, pool in places.items():
        limit = _impossible(pool) or limits.limit(pool, allowed)
        if isinstance(limit, str):
            refused[place] = limit
            continue
        row = limits.row(place, limit, pool.less_is_better)
        before = today.rows.get(place, row)
        worse = _worse(row.value, before.accepted, pool.less_is_better)
        if worse > _most_worse(before) and not how.allow_looser:
            value, last = (with_unit(each, row.unit) for each in (row.value, before.accepted))
            kept[place] = (
                f"{value} is {100 * worse:.1f} % worse than {last}, accepted last: use --allow-looser to accept"
            )
            continue
        bound, last_bound = row.fail_bound(pool.less_is_better), before.accepted_bound(pool.less_is_better)
        bound_worse = _bound_worse(bound, last_bound, pool.less_is_better)
        if last_bound is not None and bound_worse > _most_bound_worse(before, last_bound) and not how.allow_looser:
            kept[place] = _bound_kept(bound, last_bound, bound_worse, row.unit)
            continue
        change = _change(place, today, chosen)
        apart = None if how.allow_looser and not change else _looser(row, _of_today(place, today, published))
        if apart is not None and change:
            now, then = apart
            looser.setdefault(change, {})[place] = now / then - 1
        elif apart is not None:
            worded = [figure(value, row.unit) for value in apart]
            kept[place] = f"{worded[0]} would be looser than today's {worded[1]}"
            continue
        tuned[place] = limit
        own: dict[str, Any] = {}  # `accepted` stands only where it is not the row's own value
        if worse > 0 and how.allow_looser:
            accepted[place] = row.value / before.accepted - 1
        elif worse > 0:
            own["accepted"] = before.accepted
        if bound_worse > 0 and how.allow_looser:
            bounds_accepted[place] = bound_worse if pool.less_is_better else -bound_worse
        elif bound_worse > 0:
            own["accepted_bound"] = last_bound
        row = replace(row, provenance={**stamped, **row.provenance, **own})
        if place not in today.rows or not _alike(row, today.rows[place], today):
            changed[place] = row
    text = today.text
    if changed:
        text = reference_text.text(today, _about(chosen, how, figures, changed.values()), changed)
        file = reference_text.check(text, today, changed)
        for node_type in node_types:
            file.check_line_rates(fastest_links(node_type.node))
    spent = budget({places[place]: limit for place, limit in tuned.items()}, figures)
    return Proposal(today, text, tuned, refused, kept, spent, looser, accepted, bounds_accepted)


def _places(pools: Sequence[Pool], today: CurrentFile) -> tuple[dict[RowPlace, Pool], dict[RowPlace, str]]:
    """The place of each pool, and why some have none."""
    placed: dict[RowPlace, Pool] = {}
    refused: dict[RowPlace, str] = {}
    for check, own in grouped((pool.check, pool) for pool in pools).items():
        before = {place[1] is not None for place in today.rows if place[0] == check}
        indexed = any(pool.indexed for pool in own) or len({pool.model for pool in own}) > 1 or True in before
        for pool in own:
            place = (check, pool.model if indexed else None, pool.row)
            if indexed and pool.model is None:
                refused[place] = "the GPUs' model is not known"
            elif indexed and False in before:
                refused[place] = "today's rows of this check have no $index: remove them"
            elif place in placed:
                types = sorted({pool.node_type or "none", placed[place].node_type or "none"})
                units = sorted({pool.unit, placed[place].unit})
                what = f"node types ({', '.join(types)})" if len(units) == 1 else f"units ({', '.join(units)})"
                refused[place] = f"of two {what}: give each partition its own file with `references:`"
            else:
                placed[place] = pool
    return {place: pool for place, pool in placed.items() if place not in refused}, refused


def _impossible(pool: Pool) -> str | None:
    """A median above what its link can carry is a fault of the measurement."""
    if not pool.figures or pool.ceiling is None:
        return None
    middle = statistics.median_high(pool.nodes.values())
    if middle <= pool.ceiling * (1 + thresholds.CEILING_ROUNDING):
        return None
    return f"the median {figure(middle, pool.unit)} is above what its link can carry, {figure(pool.ceiling, pool.unit)}"


def _of_today(place: RowPlace, today: CurrentFile, published: Sequence[ReferenceFile]) -> ReferenceRow | None:
    if place in today.rows:
        return today.rows[place]
    check, model, name = place
    return next((row for row in (file.row(check, model, [name]) for file in published) if row is not None), None)


def _change(place: RowPlace, today: CurrentFile, chosen: ChosenSamples) -> str:
    """What software is other than that which today's row was tuned with, in words; empty where there is none, or no such row."""
    if place not in today.rows:
        return ""
    return ", ".join(
        f"{software_changes.words({name: old})} -> {new}"
        for name, (old, new) in software_changes.changes(_stamp(today.rows[place], today), chosen.stamp).items()
    )


def _stamp(row: ReferenceRow, today: CurrentFile) -> dict[str, str]:
    own: Mapping[str, Any] = {**today.tuned, **row.provenance}.get("stamp") or {}
    return {key: str(version) for key, version in own.items() if version is not None}


def _worse(new: float, accepted: float, less_is_better: bool) -> float:
    """By which part a value is worse than the one that was accepted; below 0 it is better."""
    return round(new / accepted - 1 if less_is_better else 1 - new / accepted, 9)


def _most_worse(before: ReferenceRow) -> float:
    """By which part a new value may be worse than the accepted one; of a row without limits, which is too noisy for any, by all."""
    steps = [_step(before, end) / before.value for end in before.as_expected if end is not None]
    return max(thresholds.ACCEPTED_LOSS, *steps) if steps else math.inf


def _bound_worse(new: float | None, accepted: float | None, less_is_better: bool) -> float:
    """By which part of it a FAIL bound is looser than the one that was accepted; one that is not there any more by all."""
    if accepted is None:
        return 0.0
    if new is None or accepted == 0:
        return float(new is None)
    return _worse(new, accepted, less_is_better)


def _most_bound_worse(before: ReferenceRow, accepted: float) -> float:
    """By which part of it a FAIL bound may be looser than the one that was accepted. Its way is of then, so that it cannot grow."""
    return max(
        thresholds.ACCEPTED_LOSS, thresholds.LOOSER_STEP * abs(before.accepted / accepted - 1) if accepted else 0
    )


def _bound_kept(bound: float | None, accepted: float, worse: float, unit: str) -> str:
    leave = "use --allow-looser to accept"
    if bound is None:
        return f"would have no FAIL bound any more: {leave}"
    now, then = with_unit(bound, unit), with_unit(accepted, unit)
    return f"its FAIL bound, {now}, is {100 * worse:.1f} % looser than {then}, accepted last: {leave}"


def _step(row: ReferenceRow, end: float) -> float:
    """How far a limit of a tune may lie from that of the tune before, ``end``, with nothing changed."""
    return thresholds.LOOSER_STEP * max(thresholds.LEAST_WAY * row.value, abs(row.value - end))


def _looser(new: ReferenceRow, before: ReferenceRow | None) -> tuple[float, float] | None:
    """The new limit and today's, where it is looser by more than one tune differs from the next; None where it is not.

    Were every small step refused, limits would only ever come nearer, and the tightest of many tunes would stay.
    """
    if before is None:
        return None
    for now, then, sign in zip(new.as_expected, before.as_expected, (1, -1)):
        if now is None or then is None:
            continue
        if sign * now < sign * then - _step(before, then):
            return now, then
    return None


def _alike(new: ReferenceRow, before: ReferenceRow, today: CurrentFile) -> bool:
    """Whether two rows judge alike, at the same software: how many hosts told it, and when, may differ."""
    one, other = (
        (row, row.degraded, row.accepted, row.provenance.get("accepted_bound"), _stamp(row, today))
        for row in (new, before)
    )
    return one == other


def _about(chosen: ChosenSamples, how: TuneOptions, figures: int, rows: Iterable[ReferenceRow]) -> dict[str, Any]:
    """What the provenance says of a file whose ``rows`` are all of this tune."""
    runs = list(chosen.runs[-reference_text.MOST_RUNS :])
    left = len(chosen.runs) - len(runs)
    return {
        "date": day_text(chosen.last),
        "first": day_text(chosen.first),
        "n": min(row.provenance["n"] for row in rows),
        "stamp": dict(chosen.stamp),
        "budget": {
            "node_nights": thresholds.NODE_NIGHTS,
            "fail": thresholds.FAILS,
            "degraded": thresholds.DEGRADEDS,
            "figures": figures,
        },
        "runs": [*runs, f"and {left} earlier"] if left else runs,
        "command": shlex.join(how.command),
    }


def places_by_reason(refused: Mapping[RowPlace, str]) -> dict[str, list[str]]:
    """Places with the same reason together."""
    return grouped((why, place_key(place)) for place, why in refused.items())
