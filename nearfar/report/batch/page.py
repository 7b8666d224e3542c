"""The page itself: ``batch.html`` with what it needs. A site's ``templates/`` may override it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import nearfar
from nearfar.report import title
from nearfar.report.blocks import rendered
from nearfar.report.figures import wording
from nearfar.topology import spread_settings

from .distributions import Distribution
from .drawing import histogram
from .nodes import Batch, shared

#: Nodes in one sentence.
_NAMED = 6
#: Rows that stand open; the rest opens on demand.
_OPEN = 60


def render(batch: Batch, fold: Callable[[Iterable[str]], str]) -> str:
    """The page, one self-contained HTML document. ``fold`` writes names of nodes as a list: ``n[1-4]``."""
    names = batch.distributions.nodes
    checks = [check for check in batch.check_names if batch.distributions.single(check)]

    def limits(one: Distribution) -> str:
        words = [_bound("≥", sorted(one.lowest), one.unit), _bound("≤", sorted(one.highest), one.unit)]
        words += [_bound("DEGRADED <", sorted(one.below), one.unit), _bound("DEGRADED >", sorted(one.above), one.unit)]
        return ", ".join(filter(None, words)) or "no bound"

    def named(owners: list[int]) -> str:
        more = f" and {len(owners) - _NAMED} more" if len(owners) > _NAMED else ""
        return f"{fold(names[owner] for owner in owners[:_NAMED])}{more}"

    return rendered("batch.html", {
        "batch": batch, "lead": lead(batch), "shared": shared(batch.nodes), "fold": fold, "names": names, "checks": checks,
        "settings": [each.sentence for each in spread_settings(batch.settings)],
        "limits": limits, "named": named, "histogram": histogram, "title": title, "words": wording, "signs": wording.SIGNS,
        "open_rows": _OPEN, "version": nearfar.__version__,
    })  # fmt: skip


def _bound(sign: str, bounds: list[float], unit: str) -> str:
    return f"{sign} {wording.span([bounds[0], bounds[-1]], unit)}" if bounds else ""


def lead(batch: Batch) -> str:
    """The sweep in a sentence."""
    counts, all_of_them = batch.counts, len(batch.nodes)
    if not all_of_them:
        return "No node was asked for."
    if counts.get("PASS") == all_of_them:
        return (
            f"All {wording.plural(all_of_them, 'node')} are as they should be."
            if all_of_them > 1
            else "The node is as it should be."
        )
    told = {
        "FAIL": ("failed", "failed"), "INDETERMINATE": ("could not be judged", "could not be judged"),
        "DEGRADED": ("is good, but worse than it should be", "are good, but worse than they should be"),
    }  # fmt: skip
    parts = [
        f"{wording.plural(counts[word], 'node')} {told[word][counts[word] > 1]}" for word in told if word in counts
    ]
    good = counts.get("PASS", 0)
    return f"{'; '.join(parts)}. {good or 'None'} of {all_of_them} passed."
