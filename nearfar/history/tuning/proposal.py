"""What a tune proposes for one reference file: its new text, the limits behind it, and what was refused or kept, and why."""

from __future__ import annotations

import difflib
import io
import math
import shlex
import statistics
from collections import Counter
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
from .limits import TunedLimit, figures_of_a_node
from .reference_text import CurrentFile
from .samples import ChosenSamples, Pool

#: What a tune may make worse: a row's value and FAIL bound (the keys of what was accepted in its provenance), and its nearest limit.
ACCEPTED, ACCEPTED_BOUND, _LIMIT = "accepted", "accepted_bound", "limit"


@dataclass(frozen=True)
class TuneOptions:
    """What a user chose, and the command that was typed."""

    allow_looser: bool
    command: Sequence[str]


@dataclass(frozen=True)
class Proposal:
    """``tuned`` are the new limits by place; ``refused`` and ``kept`` say why a pool has no new one.

    ``figures`` of a node share the budget of false alarms. ``looser`` has, by change of software (``driver 580.95 -> 590.12``), by which
    part of today's limit (-0.015: 1.5 % less, of times more) those of ``tuned`` are looser that were tuned with the software of before.
    ``accepted`` has by which part the values (``ACCEPTED``) and FAIL bounds (``ACCEPTED_BOUND``; -1: there is none any more) of
    ``tuned`` are worse than the last that were accepted, where ``--allow-looser`` accepts them.
    """

    today: CurrentFile
    text: str
    tuned: Mapping[RowPlace, TunedLimit]
    refused: Mapping[RowPlace, str]
    kept: Mapping[RowPlace, str]
    figures: int
    looser: Mapping[str, Mapping[RowPlace, float]] = field(default_factory=dict)
    accepted: Mapping[str, Mapping[RowPlace, float]] = field(default_factory=dict)

    @property
    def slow(self) -> Counter[str]:
        """Hosts with figures beyond the new limits, and of how many limits."""
        return Counter(host for limit in self.tuned.values() for host in limit.aside)

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
    accepted: dict[str, dict[RowPlace, float]] = {ACCEPTED: {}, ACCEPTED_BOUND: {}}
    changed: dict[RowPlace, ReferenceRow] = {}
    stamped = {"date": day_text(chosen.last), "stamp": dict(chosen.stamp)}
    known = [place for place in today.rows if place not in places and (place[0], place[2]) not in chosen.elsewhere]
    figures = figures_of_a_node(chosen.pools) + len(known)
    for place, pool in places.items():
        limit = _impossible(pool) or limits.limit(pool, figures)
        if isinstance(limit, str):
            refused[place] = limit
            continue
        row = limits.row(place, limit, pool.less_is_better)
        before = today.rows.get(place)
        change = _change(before, today, chosen)
        check, model, name = place
        rows = (file.row(check, model, [name]) for file in published)
        steps = _steps(row, before, next((each for each in rows if each is not None), None), pool.less_is_better)
        # New software may move a limit; what was accepted stays the measure.
        needs_leave = (step for step in steps if step.too_far and not (change and step.of == _LIMIT))
        if not how.allow_looser and (step := next(needs_leave, None)):
            kept[place] = step.refusal
            continue
        tuned[place] = limit
        own: dict[str, Any] = {}  # what was accepted stands only where it is not the row's own
        for step in steps:
            if step.of == _LIMIT and change and step.too_far:
                looser.setdefault(change, {})[place] = step.part
            elif step.of != _LIMIT and step.part and how.allow_looser:
                accepted[step.of][place] = step.part
            elif step.of != _LIMIT and step.part:
                own[step.of] = step.then
        row = replace(row, provenance={**stamped, **row.provenance, **own})
        if before is None or not _alike(row, before, today):
            changed[place] = row
    text = today.text
    if changed:
        text = reference_text.text(today, _about(chosen, how, figures, changed.values()), changed)
        file = reference_text.check(text, today, changed)
        for node_type in node_types:
            file.check_line_rates(fastest_links(node_type.node))
    return Proposal(today, text, tuned, refused, kept, figures, looser, accepted)


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


def _change(before: ReferenceRow | None, today: CurrentFile, chosen: ChosenSamples) -> str:
    """What software is other than that which today's row was tuned with, in words; empty where there is none, or no such row."""
    changes = {} if before is None else software_changes.changes(before.stamp(today.tuned), chosen.stamp)
    return ", ".join(f"{software_changes.words({name: old})} -> {new}" for name, (old, new) in changes.items())


@dataclass(frozen=True)
class _Moved:
    """A number of a row that a tune moves: ``of`` what, ``then`` and ``now`` (None: a bound that goes), in ``unit``. ``part`` is by which
    part it is worse (-0.015: 1.5 % less, of times more; 0: it is no worse), ``most`` how much is noise."""

    of: str
    then: float
    now: float | None
    unit: str
    part: float
    most: float

    @property
    def too_far(self) -> bool:
        """Whether an administrator has to accept it."""
        return abs(self.part) > self.most

    @property
    def refusal(self) -> str:
        """Why the row stays as it is."""
        leave = "use --allow-looser to accept"
        if self.now is None:
            return f"would have no FAIL bound any more: {leave}"
        if self.of == _LIMIT:
            return f"{figure(self.now, self.unit)} would be looser than today's {figure(self.then, self.unit)}"
        now, then = (with_unit(value, self.unit) for value in (self.now, self.then))
        worse = f"{100 * abs(self.part):.1f} %"
        if self.of == ACCEPTED:
            return f"{now} is {worse} worse than {then}, accepted last: {leave}"
        return f"its FAIL bound, {now}, is {worse} looser than {then}, accepted last: {leave}"


def _steps(
    row: ReferenceRow, before: ReferenceRow | None, published: ReferenceRow | None, less_is_better: bool
) -> list[_Moved]:
    """The numbers of a new row that an earlier one has too: its value and FAIL bound beside those accepted last, so that small steps
    do not add up, and its nearest limit beside today's, or else the published one.

    Each may be worse by a quarter of the way between value and limit: were every small step refused, limits would only ever come nearer,
    and the tightest of many tunes would stay. A value of a row without limits, which is too noisy for any, may be anything.
    """

    def step(of: str, now: float | None, then: float, ways: Iterable[float], least: float) -> _Moved:
        part = now / then - 1 if now is not None and then else float(now is None) * (1 if less_is_better else -1)
        part = round(part if less_is_better == (part > 0) else 0.0, 9)
        return _Moved(of, then, now, row.unit, part, max((least, *(thresholds.LOOSER_STEP * way for way in ways))))

    steps = []
    if before is not None:
        ways = [abs(end / before.value - 1) for end in before.as_expected if end is not None]
        steps.append(step(ACCEPTED, row.value, before.accepted, ways or [math.inf], thresholds.ACCEPTED_LOSS))
        bound = before.accepted_bound(less_is_better)
        if bound is not None:
            # The way is that of then, so that it cannot grow.
            ways = [abs(before.accepted / bound - 1)] if bound else []
            now = row.fail_bound(less_is_better)
            steps.append(step(ACCEPTED_BOUND, now, bound, ways, thresholds.ACCEPTED_LOSS))
    beside = before or published
    end, then = (None if each is None else each.as_expected[less_is_better] for each in (row, beside))
    if beside is not None and end is not None and then:
        ways = [abs(beside.value / then - 1), thresholds.LEAST_WAY * beside.value / then]
        steps.append(step(_LIMIT, end, then, ways, 0.0))
    return steps


def _alike(new: ReferenceRow, before: ReferenceRow, today: CurrentFile) -> bool:
    """Whether two rows judge alike, at the same software: how many hosts told it, and when, may differ."""
    one, other = (
        (row, row.degraded, row.accepted, row.provenance.get(ACCEPTED_BOUND), row.stamp(today.tuned))
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
