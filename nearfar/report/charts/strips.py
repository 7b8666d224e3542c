"""Two tiny pictures of a figure: how far it is from what is expected, and how much its samples scatter."""

from __future__ import annotations

from markupsafe import Markup

from nearfar.report.figures import Figure, number

from .svg import element, markup

#: As wide as the style sheet makes both.
WIDTH = 116
#: The scatter's scale, to either side of the figure: one scale for all rows, so that rows can be compared.
SCATTER = 0.01
#: Origins of references that somebody measured on a machine of this kind.
_MEASURED = ("tuned", "published", "site")


def bullet(figure: Figure) -> Markup:
    """A bar from zero to the value, with the reference as a tick (broken where nobody measured it), the bounds as a shade, the median
    and the looks as marks, and the ceiling as the track's end. Nothing where there is neither reference nor ceiling to compare with."""
    if figure.value is None or (figure.reference is None and not figure.ceiling):
        return Markup("")
    lowest, highest = (figure.reference.lowest, figure.reference.highest) if figure.reference else (None, None)
    known = [v for v in (figure.value, figure.expected, highest, figure.ceiling) if v is not None]
    most = figure.ceiling if figure.ceiling and figure.ceiling >= max(known) else max(known) * 1.05
    if most <= 0:
        return Markup("")

    def at(value: float) -> float:
        return max(0.0, min(1.0, value / most)) * WIDTH

    root = element("svg", class_="bullet", aria_hidden="true")
    root.append(element("path", d=f"M0 7H{WIDTH}", class_="track"))
    if lowest is not None:
        end = at(highest) if highest is not None else float(WIDTH)
        root.append(element("rect", x=at(lowest), y=2, width=max(0.0, end - at(lowest)), height=10, class_="bounds"))
    root.append(element("path", d=f"M0 7H{at(figure.value):.1f}", class_=f"value {figure.shown}"))
    if figure.median is not None and figure.steadiness_words:
        root.append(element("line", x1=at(figure.median), x2=at(figure.median), y1=3, y2=11, class_="median"))
    for look in figure.looks:
        if look.value is not None:
            root.append(element("circle", cx=at(look.value), cy=7, r=2.5, class_="look"))
    if figure.reference is not None:
        x = at(figure.reference.value)
        supposed = "" if figure.reference.origin in _MEASURED else " supposed"
        root.append(element("line", x1=x, x2=x, y1=1, y2=13, class_=f"tick{supposed}"))
    return markup(root)


def scatter(figure: Figure) -> Markup:
    """The samples as dots at their distance from the figure, the interval as a bar; arrows for what lies beyond the scale."""
    if figure.value is None or len(figure.samples) < 2 or not figure.value:
        return Markup("")
    middle = figure.value

    def at(value: float) -> float:
        offset = max(-1.0, min(1.0, (value / middle - 1) / SCATTER))
        return WIDTH / 2 + offset * (WIDTH / 2 - 5)

    words = f"{len(figure.samples)} samples, {number(min(figure.samples))} to {number(max(figure.samples))}"
    root = element("svg", element("title", words), class_="scatter", role="img")
    root.append(element("path", d=f"M0 7H{WIDTH}M{WIDTH // 2} 1v12", class_="axis"))
    if figure.interval:
        low, high = map(at, figure.interval)
        root.append(element("rect", x=low, y=4, width=max(1.0, high - low), height=6, class_="interval"))
    # A page has thousands: each kind is one path, and what lies on another is drawn once.
    dots: dict[str, list[str]] = {"beyond": [], "sample": []}
    for sample in figure.samples:
        tip = 4 if sample > middle else -4
        if abs(sample / middle - 1) > SCATTER:
            dots["beyond"].append(f"M{at(sample):.1f} 3.5l{tip} 3.5l{-tip} 3.5z")
        else:
            dots["sample"].append(f"M{at(sample):.1f} 7h0")
    for kind, paths in dots.items():
        if paths:
            root.append(element("path", d="".join(dict.fromkeys(paths)), class_=kind))
    return markup(root)
