"""The page itself: ``batch.html`` with what it needs. A site's ``templates/`` may override it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from markupsafe import Markup

import nearfar
from nearfar.report import title
from nearfar.report.blocks import rendered
from nearfar.report.charts import element, markup
from nearfar.report.figures import number, unit_words, wording
from nearfar.topology import spread_settings

from .distributions import ABOVE, BELOW, HIGHEST, LOWEST, Distribution
from .nodes import Batch, shared

WIDTH, HEIGHT, BINS = 200, 26, 40
#: Bounds that lie closer together than this part of themselves are drawn; a spread of them would say nothing.
_ONE_BOUND = 0.01
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


def histogram(one: Distribution) -> Markup:
    """Counts over the figure's range, those that did not pass in a colour of their own; bounds as lines, the median as a
    dot below."""
    counts, bad, low, high = one.histogram(BINS)
    words = f"{number(low, one.unit)} to {number(high, one.unit)} {unit_words(one.unit)}"
    root = element("svg", element("title", words), class_="histogram", viewBox=f"0 0 {WIDTH} {HEIGHT + 4}", width=WIDTH,
                   height=HEIGHT + 4, role="img")  # fmt: skip
    root.append(element("line", x1=0, x2=WIDTH, y1=HEIGHT, y2=HEIGHT, class_="axis"))
    most = max(counts)
    for class_, which in (("bar", counts), ("bad", bad)):
        # Bars of one kind are one path: a page has hundreds of histograms.
        path = "".join(_bar(position, count / most) for position, count in enumerate(which) if count)
        if path:
            root.append(element("path", d=path, class_=class_))

    def at(value: float) -> float:
        return (value - low) / (high - low) * WIDTH if high > low else WIDTH / 2

    for bounds in (one.bound(LOWEST), one.bound(HIGHEST)):
        if bounds and bounds[-1] - bounds[0] <= _ONE_BOUND * abs(bounds[-1]):
            root.append(element("line", x1=at(bounds[0]), x2=at(bounds[0]), y1=0, y2=HEIGHT, class_="bound"))
    root.append(element("circle", cx=at(one.middle), cy=HEIGHT + 1.5, r=2.2, class_="median"))
    return markup(root)


def _bar(position: int, share: float) -> str:
    """A bar from the axis up; one node of a thousand is seen too."""
    step, tall = WIDTH / BINS, max(3.0, share * (HEIGHT - 2))
    return f"M{position * step:.1f} {HEIGHT}v{-tall:.1f}h{step - 0.8:.1f}v{tall:.1f}z"
