"""What was measured as one page that needs no other file: ``cost.html`` with its drawing, a row for each scheme."""

from __future__ import annotations

import math

from markupsafe import Markup

import nearfar
from nearfar.base import second_text, statistics
from nearfar.report import rendered
from nearfar.report.charts import element, markup, text

from . import words
from .measured import Measured, SchemeRuns
from .pairs import LEAST_PAIRS
from .words import Subject

_WIDTH, _ROW, _TOP = 1100, 30, 30
#: Where names end and where the scale begins and ends.
_NAMES, _LEFT, _RIGHT = 210, 230, 960
#: Steps of the scale, as parts.
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_MOST_STEPS = 8
#: How the words of a state are coloured.
_KINDS = {"dearer": "slower", "cheaper": "faster"}


def render(measured: Measured, subject: Subject) -> str:
    """The page, one self-contained HTML document."""
    order = [measured.reference, *(scheme for scheme in measured.schemes if scheme is not measured.reference)]
    return rendered("cost.html", {
        "found": measured, "subject": subject, "words": words, "answer": words.answer(measured), "against": words.against(measured),
        "next": words.next_step(measured, subject), "order": order, "drawing": _chart(measured), "median": statistics.median,
        "kinds": _KINDS, "least_pairs": LEAST_PAIRS, "notes": words.notes(measured), "runs": _runs(measured),
        "version": nearfar.__version__, "made": second_text(),
    })  # fmt: skip


def _runs(measured: Measured) -> list[tuple[str, str, str, str, str]]:
    """Every run in the order of time: when it began, its scheme, its block, its time, its figure or why it has none."""
    every = sorted((run for scheme in measured.schemes for run in scheme.runs), key=lambda run: run.began)
    return [
        (
            f"{run.began:.1f}", run.scheme, str(run.block) if run.block else "warm-up", f"{run.seconds:.3f}",
            words.number(run.value) if run.value is not None else run.problem or "",
        )
        for run in every
    ]  # fmt: skip


def _chart(measured: Measured) -> Markup | str:
    """Every pair as a small dot, the median as a great one, the interval as a bar, on one scale; the bound as a broken line."""
    rows = [scheme for scheme in measured.compared if measured.penalty(scheme) is not None]
    if not rows:
        return ""
    values = [value for scheme in rows for value in _reach(measured, scheme)]
    low, high = min(0.0, *values), max(0.0, *values)
    step = next((scheme for scheme in _STEPS if scheme * _MOST_STEPS >= high - low), (high - low) / _MOST_STEPS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    height = _TOP + _ROW * len(rows) + 6

    def at(part: float) -> float:
        return _LEFT + (part / step - first) / (last - first) * (_RIGHT - _LEFT)

    root = element(
        "svg", element("title", f"what each scheme costs against {measured.reference.name}, with its 95 % interval"), class_="changes",
        viewBox=f"0 0 {_WIDTH} {height}", role="img",
    )  # fmt: skip
    for position in range(first, last + 1):
        x = at(position * step)
        root.append(element("line", x1=x, x2=x, y1=_TOP - 6, y2=height - 4, class_="grid" if position else "zero"))
        root.append(text(x, _TOP - 12, words.percent(position * step), "scale", "middle"))
    bound = measured.plan.at_most
    if bound is not None and bound <= last * step:
        root.append(element("line", x1=at(bound), x2=at(bound), y1=_TOP - 6, y2=height - 4, class_="bound"))
    for row, scheme in enumerate(rows):
        y = _TOP + _ROW * row + _ROW / 2
        penalty = measured.penalty(scheme)
        assert penalty is not None
        colour = _KINDS.get(words.state(measured, scheme), "chance")
        root.append(text(_NAMES, y + 4, scheme.name, "name", "end"))
        for ratio in measured.ratios(scheme):
            root.append(element("circle", cx=at(ratio), cy=y, r=2.2, class_="pair"))
        if penalty.interval is not None:
            ends = tuple(map(at, penalty.interval))
            root.append(element("line", x1=ends[0], x2=ends[1], y1=y, y2=y, class_=f"interval {colour}"))
        root.append(element("circle", cx=at(penalty.value), cy=y, r=4.6, class_=f"change {colour}"))
        root.append(text(_RIGHT + 14, y + 4, words.percent(penalty.value), "value", None))
    return markup(root)


def _reach(measured: Measured, scheme: SchemeRuns) -> list[float]:
    penalty = measured.penalty(scheme)
    assert penalty is not None
    return [penalty.least, penalty.most, *(penalty.interval or ())]
