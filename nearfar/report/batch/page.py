"""The page itself: ``batch.html`` with what it needs. A site's ``templates/`` may override it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import nearfar
from nearfar.report import title
from nearfar.report.blocks import rendered
from nearfar.report.figures import wording
from nearfar.topology import spread_settings

from .distributions import ABOVE, BELOW, HIGHEST, LOWEST, Distribution
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
        signs = {LOWEST: "≥", HIGHEST: "≤", BELOW: "DEGRADED <", ABOVE: "DEGRADED >"}
        words = [
            f"{sign} {wording.span(bounds, one.unit)}" for which, sign in signs.items() if (bounds := one.bound(which))
        ]
        return ", ".join(words) or "no bound"

    def named(owners: list[int]) -> str:
        more = f" and {len(owners) - _NAMED} more" if len(owners) > _NAMED else ""
        return f"{fold(names[owner] for owner in owners[:_NAMED])}{more}"

    return rendered("batch.html", {
        "batch": batch, "lead": lead(batch), "shared": shared(batch.nodes), "fold": fold, "names": names, "checks": checks,
        "settings": [each.sentence for each in spread_settings(batch.settings)],
        "limits": limits, "named": named, "histogram": histogram, "title": title, "words": wording, "signs": wording.SIGNS,
        "open_rows": _OPEN, "version": nearfar.__version__,
    })  # fmt: skip


def lead(batch: Batch) -> str:
    """The sweep in a sentence."""
    counts, all_of_them = batch.counts, len(batch.nodes)
    if not all_of_them:
        return "No node was asked for."
    if counts.get("PASS") == all_of_them:
        every = f"All {wording.plural(all_of_them, 'node')} are" if all_of_them > 1 else "The node is"
        return f"{every} as {'they' if all_of_them > 1 else 'it'} should be."
    told = {
        "FAIL": ("failed", "failed"), "INDETERMINATE": ("could not be judged", "could not be judged"),
        "DEGRADED": ("is good, but worse than it should be", "are good, but worse than they should be"),
    }  # fmt: skip
    some = [(wording.plural(counts[word], "node"), told[word][counts[word] > 1]) for word in told if word in counts]
    good = counts.get("PASS", 0)
    return f"{'; '.join(map(' '.join, some))}. {good or 'None'} of {all_of_them} passed."
