"""A proposal in words, as a diff, and as plain values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from nearfar.base import day_text, listed, plural
from nearfar.verdict import thresholds
from nearfar.verdict.references import RowPlace, figure, place_key, software_changes

from .limits import TunedLimit
from .proposal import ACCEPTED, ACCEPTED_BOUND, Proposal, places_by_reason
from .samples import ChosenSamples


def left_out(counts: Mapping[str, int]) -> str:
    """``284 not converged, 43 derived``, the most first."""
    most = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{count:,} {reason}" for reason, count in most) or "nothing"


def show(made: Proposal, chosen: ChosenSamples, applied: bool, say: Callable[[str], None]) -> None:
    """The diff on standard output, and through ``say`` all that is to be said about it."""
    path = made.today.into if made.diff else made.today.path
    stamp = ", ".join(f"{key} {value}" for key, value in chosen.stamp.items()) or "no software versions"
    hosts = {host for pool in chosen.pools for host in pool.nodes}
    say(f"{chosen.figures:,} figures of {plural(len(hosts), 'host')} and {plural(len(chosen.runs), 'run')}, "
         f"{day_text(chosen.first)} to {day_text(chosen.last)}, {stamp}")  # fmt: skip
    if chosen.names:
        same = sorted(set(chosen.names.values()))
        names = plural(len(hosts | set(chosen.names)), "host name")
        say(
            f"{names} are {plural(len(hosts), 'host')}: the same GPUs were measured under several names (of {listed(same, 5)})"
        )
    if chosen.ahead:
        say(f"times in the future, which decide nothing: of {listed(chosen.ahead, 5)}; look at their clocks")
    say(f"left out: {left_out(chosen.left_out)}")
    for word, reasons in (("refused", made.refused), ("kept", made.kept)):
        for why, places in places_by_reason(reasons).items():
            say(f"{word}: {listed(places)}: {why}")
    for line in _looser(made):
        say(line)
    for place, limit in made.tuned.items():
        say(f"{place_key(place)}: {_bounds(limit)}")
    sys.stdout.write(made.diff)
    sys.stdout.flush()
    for line in _budget(made):
        say(line)
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
        say(f"{path}: not written; review the diff, then run the same command with --apply")


def _looser(made: Proposal) -> list[str]:
    """Which limits are looser because the software changed, and which values are accepted though worse, and by how much."""
    lines = [f"{plural(len(rows), 'limit')} looser than today's, by {_parts(rows)}, because the software changed ({change}): "
             f"{_places(rows)}; do its release notes mention it?" for change, rows in made.looser.items()]  # fmt: skip
    by_leave = {ACCEPTED: ("value", "worse"), ACCEPTED_BOUND: ("FAIL bound", "looser")}
    lines += [f"{plural(len(rows), by_leave[of][0])} {by_leave[of][1]} than accepted last, by {_parts(rows)}, accepted by --allow-looser: "
              f"{_places(rows)}" for of, rows in made.accepted.items() if rows]  # fmt: skip
    return lines


def _parts(rows: Mapping[RowPlace, float]) -> str:
    """``−1.5 % to −3.0 %``."""
    parts = sorted(rows.values(), key=abs)
    least, most = (software_changes.signed_percent(part) for part in (parts[0], parts[-1]))
    return most if least == most else f"{least} to {most}"


def _places(rows: Mapping[RowPlace, float]) -> str:
    """Some of them, the greatest part first."""
    return listed([place_key(place) for place in sorted(rows, key=lambda place: -abs(rows[place]))], 5)


def _bounds(limit: TunedLimit) -> str:
    """``n = 3, spread 0.5 %: FAIL below 52.1, DEGRADED below 54.3``."""
    text = f"n = {limit.n}, spread {100 * limit.spread:.2g} %"
    if limit.bound is None:
        return f"{text}: too noisy for any limit"
    side = "above" if limit.bound > limit.value else "below"
    text += f": FAIL {side} {figure(limit.bound, limit.unit)}"
    return text + ("" if limit.degraded is None else f", DEGRADED {side} {figure(limit.degraded, limit.unit)}")


def _budget(made: Proposal) -> list[str]:
    if not made.tuned:
        return []
    lines = [
        f"false-alarm budget: {thresholds.FAILS:g} FAIL and {thresholds.DEGRADEDS:g} DEGRADED in {thresholds.NODE_NIGHTS:,} "
        f"healthy node-nights, shared over {plural(made.figures, 'figure')} of a node",
    ]
    if made.slow:
        named = listed([f"{node} ({plural(count, 'limit')})" for node, count in made.slow.most_common()], 5)
        lines.append(f"their medians lie outside: {named}; look at them before these limits judge anything")
    return lines


def as_json(made: Proposal, chosen: ChosenSamples, applied: bool) -> dict[str, Any]:
    """The proposal as plain values."""
    return {
        "path": str(made.today.into if made.diff else made.today.path),
        "stands_before": str(made.today.shadowed) if made.diff and made.today.shadowed is not None else None,
        "applied": applied and bool(made.diff), "diff": made.diff,
        "figures": chosen.figures, "ahead": list(chosen.ahead), "names": dict(chosen.names), "runs": list(chosen.runs),
        "stamp": dict(chosen.stamp), "left_out": dict(chosen.left_out),
        "tuned": {place_key(place): vars(limit) for place, limit in made.tuned.items()},
        "refused": {place_key(place): why for place, why in made.refused.items()},
        "kept": {place_key(place): why for place, why in made.kept.items()},
        "looser": {change: {place_key(place): part for place, part in rows.items()} for change, rows in made.looser.items()},
        "accepted": {place_key(place): part for place, part in made.accepted[ACCEPTED].items()},
        "bounds_accepted": {place_key(place): part for place, part in made.accepted[ACCEPTED_BOUND].items()},
        "budget": {"figures": made.figures, "slow": made.slow},
    }  # fmt: skip
