"""A proposal in words, as a diff, and as plain values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from nearfar.base import day_text
from nearfar.verdict.references import figure, place_key, prediction_bound

from .limits import TunedLimit
from .proposal import Proposal, places_by_reason
from .samples import ChosenSamples


def left_out(counts: Mapping[str, int]) -> str:
    """``284 not converged, 43 made of others``, the most first."""
    most = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{count:,} {reason}" for reason, count in most) or "nothing"


def show(made: Proposal, chosen: ChosenSamples, applied: bool, say: Callable[[str], None]) -> None:
    """The diff on standard output, and through ``say`` all that is to be said about it."""
    path = made.today.into if made.diff else made.today.path
    stamp = ", ".join(f"{key} {value}" for key, value in chosen.stamp.items()) or "no software stamp"
    nodes = {node for pool in chosen.pools for node in pool.nodes}
    say(f"{chosen.figures:,} figures of {counted(len(nodes), 'node')} and {counted(len(chosen.runs), 'run')}, "
         f"{day_text(chosen.first)} to {day_text(chosen.last)}, {stamp}")  # fmt: skip
    say(f"left out: {left_out(chosen.left_out)}")
    for word, reasons in (("refused", made.refused), ("kept", made.kept)):
        for why, places in places_by_reason(reasons).items():
            more = f" and {len(places) - 3} more" if len(places) > 3 else ""
            say(f"{word}: {', '.join(places[:3])}{more}: {why}")
    methods: dict[str, int] = {}
    for limit in made.tuned.values():
        method = f"{limit.method}{', provisional' if limit.provisional else ''} (n = {limit.n})"
        methods[method] = methods.get(method, 0) + 1
    for method, count in methods.items():
        say(f"{counted(count, 'limit')}: {method}")
    for place, limit in made.tuned.items():
        if limit.degraded is not None:
            say(f"{place_key(place)}: {_two_bounds(limit)}")
    sys.stdout.write(made.diff)
    sys.stdout.flush()
    for words in _budget(made):
        say(words)
    if made.diff and made.today.shadowed is not None:
        say(
            f"{path}: a new file, which {'stands' if applied else 'will stand'} before {made.today.shadowed}; that one is then not read"
        )
    if not made.tuned:
        say(f"{path}: nothing can be tuned")
    elif not made.diff:
        say(f"{path}: as it is already")
    elif applied:
        say(f"{path}: written; review it with your version control")
    else:
        say(f"{path}: not written; review the diff, then say it again with --apply")


def _two_bounds(limit: TunedLimit) -> str:
    """``FAIL below 52.1 (prediction for n = 3), DEGRADED below 54.3 (slack)``."""
    side = "above" if limit.bound > limit.value else "below"
    fail, degraded = (figure(bound, limit.unit) for bound in (limit.bound, limit.as_expected))
    return f"FAIL {side} {fail} (prediction for n = {limit.n}), DEGRADED {side} {degraded} (slack)"


def _budget(made: Proposal) -> list[str]:
    """The alarm budget in lines."""
    spent = made.budget
    if not spent.figures:
        return []
    each = [(spent.settled, "figure", 1 - spent.coverage), (spent.provisional, "provisional figure", spent.chance)]
    what = " + ".join(f"{counted(count, noun)} × {part:.2g}" for count, noun, part in each if count)
    shared = round(1 / spent.chance / prediction_bound.NODE_NIGHTS)
    lines = [
        f"false-alarm budget: one FAIL in {prediction_bound.NODE_NIGHTS:,} node-nights, shared over {counted(shared, 'figure')} "
        f"of a node: one in {1 / spent.chance:,.0f} for each",
        f"alarm budget: {counted(spent.nodes, 'node')} × ({what}) = "
        f"{_expected(spent.alarms)} false alarms in a run of all, were each figure at its coverage and alone"
        + ("; of figures that may drain" if spent.draining else "; none may drain today"),
    ]
    if spent.again is None or spent.confirmed is None:
        lines.append("with a confirming run: not measured, too few low figures were measured again")
    else:
        lines.append(
            f"with a confirming run: {_expected(spent.confirmed)} (of {spent.lows:,} low figures {spent.again:.0%} were low again the "
            "next time: spread between nodes does not go away)"
        )
    lines.append(f"of the {spent.judged:,} figures that entered, {spent.outside:,} lie outside of these limits")
    if spent.slow:
        worst = sorted(spent.slow.items(), key=lambda item: -item[1])
        named = ", ".join(f"{node} ({counted(count, 'limit')})" for node, count in worst[:5])
        more = f" and {len(worst) - 5} more" if len(worst) > 5 else ""
        lines.append(f"their medians lie outside: {named}{more}; look at them before these limits judge anything")
    return lines


def _expected(alarms: float) -> str:
    return f"{alarms:,.0f}" if alarms >= 100 else f"{alarms:.3g}"


def counted(count: int, noun: str) -> str:
    """``1 limit``, ``2 limits``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def as_json(made: Proposal, chosen: ChosenSamples, applied: bool) -> dict[str, Any]:
    """The proposal as plain values."""
    return {
        "path": str(made.today.into if made.diff else made.today.path),
        "stands_before": str(made.today.shadowed) if made.diff and made.today.shadowed is not None else None,
        "applied": applied and bool(made.diff), "diff": made.diff,
        "figures": chosen.figures, "runs": list(chosen.runs), "stamp": dict(chosen.stamp), "left_out": dict(chosen.left_out),
        "tuned": {place_key(place): {**vars(limit), "provisional": limit.provisional} for place, limit in made.tuned.items()},
        "refused": {place_key(place): why for place, why in made.refused.items()},
        "kept": {place_key(place): why for place, why in made.kept.items()},
        "budget": {**vars(made.budget), "alarms": made.budget.alarms, "confirmed": made.budget.confirmed},
    }  # fmt: skip
