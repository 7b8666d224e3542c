"""What a tune proposes for one reference file: its new text, the limits behind it, and what was refused or kept, and why."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.model.prediction import NodeType
from nearfar.verdict.references import ReferenceFile, fastest_links, figure

from . import limits, reference_text
from .budget import Budget, budget
from .limits import Refusal, TunedLimit
from .reference_text import CurrentFile, Place, Row, key_of
from .samples import ChosenSamples, Pool

#: A median above what its link can carry by more is no rounding.
_ABOVE = 1.005


@dataclass(frozen=True)
class TuneOptions:
    """What a user chose, and which checks the site lets drain a node for speed."""

    coverage: float
    confidence: float
    allow_looser: bool
    command: Sequence[str]
    may_drain: Callable[[str], bool]


@dataclass(frozen=True)
class Proposal:
    """``tuned`` are the new limits by place; ``refused`` and ``kept`` say why a pool has no new one."""

    today: CurrentFile
    text: str
    tuned: Mapping[Place, TunedLimit]
    refused: Mapping[Place, str]
    kept: Mapping[Place, str]
    budget: Budget

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where there is none."""
        before = str(self.today.path) if self.today.text else "/dev/null"
        old, new = (text.splitlines(keepends=True) for text in (self.today.text, self.text))
        lines = difflib.unified_diff(old, new, before, str(self.today.into))
        return "".join(lines)


def propose(
    chosen: ChosenSamples,
    today: CurrentFile,
    published: Sequence[ReferenceFile],
    node_types: Sequence[NodeType],
    how: TuneOptions,
) -> Proposal:
    """A proposal for one file. ``published`` are the files of published values, which a tuned limit is no looser than."""
    places, refused = _places(chosen.pools, today)
    tuned: dict[Place, TunedLimit] = {}
    kept: dict[Place, str] = {}
    rows: dict[Place, Row] = dict(today.rows)
    for place, pool in places.items():
        found = _impossible(pool) or limits.limit(pool, how.coverage, how.confidence)
        if isinstance(found, Refusal):
            refused[place] = found.why
            continue
        row = limits.row(found, pool.unit, pool.less_is_better)
        looser = None if how.allow_looser else _looser(row, _of_today(place, today, published))
        if looser is not None:
            kept[place] = looser
            continue
        tuned[place], rows[place] = found, row
    text = today.text
    if tuned:
        own = {place: _own(place, tuned, today) for place in rows}
        text = reference_text.text(today.head, _about(chosen, own, how), rows, own)
        for node_type in node_types:
            reference_text.check(text, rows).check_line_rates(fastest_links(node_type.node))
    spent = budget({places[place]: found for place, found in tuned.items()}, how.coverage, how.may_drain)
    return Proposal(today, text, tuned, refused, kept, spent)


def _places(pools: Sequence[Pool], today: CurrentFile) -> tuple[dict[Place, Pool], dict[Place, str]]:
    """The place of each pool, and why some have none."""
    found: dict[Place, Pool] = {}
    refused: dict[Place, str] = {}
    for check in dict.fromkeys(pool.check for pool in pools):
        own = [pool for pool in pools if pool.check == check]
        before = {place[1] is not None for place in today.rows if place[0] == check}
        indexed = any(pool.indexed for pool in own) or len({pool.model for pool in own}) > 1 or True in before
        for pool in own:
            place = (check, pool.model if indexed else None, pool.row)
            if indexed and (pool.model is None or False in before):
                why = (
                    "the GPUs' model is not known"
                    if pool.model is None
                    else "today's rows of this check have no $index: remove them"
                )
                refused[place] = why
            elif place in found:
                types = sorted({pool.node_type or "none", found[place].node_type or "none"})
                units = sorted({pool.unit, found[place].unit})
                what = f"node types ({', '.join(types)})" if len(units) == 1 else f"units ({', '.join(units)})"
                refused[place] = f"of two {what}: give each partition its own file with `references:`"
            else:
                found[place] = pool
    return {place: pool for place, pool in found.items() if place not in refused}, refused


def _impossible(pool: Pool) -> Refusal | None:
    """A median above what its link can carry is a fault of the measurement."""
    if not pool.figures:
        return None
    middle = sorted(pool.nodes.values())[len(pool.nodes) // 2]
    if pool.ceiling is None or middle <= pool.ceiling * _ABOVE:
        return None
    return Refusal(
        f"the median {figure(middle, pool.unit)} is above what its link can carry, {figure(pool.ceiling, pool.unit)}"
    )


def _of_today(place: Place, today: CurrentFile, published: Sequence[ReferenceFile]) -> Row | None:
    if place in today.rows:
        return today.rows[place]
    check, model, key = place
    return next((row for row in (file.row(check, model, [key]) for file in published) if row is not None), None)


def _looser(new: Row, before: Row | None) -> str | None:
    """That a row's bound is looser than today's, in words; None where it is not."""
    if before is None:
        return None
    words = []
    for position, sign in ((1, 1), (2, -1)):
        now, then = _bound(new, position), _bound(before, position)
        if now is not None and then is not None and sign * now < sign * then * (1 - sign * 1e-9):
            words.append(f"{figure(now, str(new[3]))} would be looser than today's {figure(then, str(new[3]))}")
    return words[0] if words else None


def _bound(row: Row, position: int) -> float | None:
    value, part = row[0], row[position]
    return None if part is None else float(value or 0) * (1 + float(part))


def _own(place: Place, tuned: Mapping[Place, TunedLimit], today: CurrentFile) -> dict[str, Any]:
    """What the provenance says of one row: of this tune, or of the one that it is from."""
    if place not in tuned:
        whole = {key: today.tuned[key] for key in ("date", "n", "stamp") if key in today.tuned}
        return {
            **whole,
            **({"provisional": True} if today.tuned.get("provisional") else {}),
            **today.provenance.get(place, {}),
        }
    found = tuned[place]
    own: dict[str, Any] = {"n": found.n, "method": found.method}
    if found.k is not None:
        own["k"] = found.k
    return {**own, "provisional": found.provisional}


def _about(chosen: ChosenSamples, own: Mapping[Place, Mapping[str, Any]], how: TuneOptions) -> dict[str, Any]:
    """What the provenance says of the file."""
    runs = list(chosen.runs[-reference_text.MOST_RUNS :])
    left = len(chosen.runs) - len(runs)
    return {
        "date": f"{chosen.last:%Y-%m-%d}",
        "first": f"{chosen.first:%Y-%m-%d}",
        "n": min(each["n"] for each in own.values()),
        **({"provisional": True} if any(each.get("provisional") for each in own.values()) else {}),
        "stamp": dict(chosen.stamp),
        "coverage": how.coverage,
        "confidence": how.confidence,
        "runs": [*runs, f"and {left} earlier"] if left else runs,
        "command": shlex.join(how.command),
    }


def places_by_reason(refused: Mapping[Place, str]) -> dict[str, list[str]]:
    """Places with the same reason together."""
    found: dict[str, list[str]] = {}
    for place, why in refused.items():
        found.setdefault(why, []).append(key_of(place))
    return found
