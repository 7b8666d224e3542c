"""The histogram of a figure across nodes."""

from __future__ import annotations

from markupsafe import Markup

from nearfar.report.charts import element, markup
from nearfar.report.figures import number, unit_words

from .distributions import HIGHEST, LOWEST, Distribution

WIDTH, HEIGHT, BINS = 200, 26, 40
#: Bounds that lie closer together than this part of themselves are drawn; a spread of them would say nothing.
_ONE_BOUND = 0.01


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
