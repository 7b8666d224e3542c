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


def render(found: Measured, subject: Subject) -> str:
    """The page, one self-contained HTML document."""
    order = [found.reference, *(each for each in found.schemes if each is not found.reference)]
    return rendered("cost.html", {
        "found": found, "subject": subject, "words": words, "answer": words.answer(found), "against": words.against(found),
        "next": words.next_step(found, subject), "order": order, "drawing": _chart(found), "median": statistics.median,
        "kinds": _KINDS, "least_pairs": LEAST_PAIRS, "notes": words.notes(found), "runs": _runs(found),
        "version": nearfar.__version__, "made": second_text(),
    })  # fmt: skip


def _runs(found: Measured) -> list[tuple[str, str, str, str, str]]:
    """Every run in the order of time: when it began, its scheme, its block, its time, its figure or why it has none."""
    every = sorted((run for each in found.schemes for run in each.runs), key=lambda run: run.began)
    return [
        (
            f"{run.began:.1f}", run.scheme, str(run.block) if run.block else "warm-up", f"{run.seconds:.3f}",
            words.number(run.value) if run.value is not None else run.problem or "",
        )
        for run in every
    ]  # fmt: skip


def _chart(found: Measured) -> Markup | str:
    """Every pair as a small dot, the median as a great one, the interval as a bar, on one scale; the bound as a broken line."""
    rows = [each for each in found.compared if found.penalty(each) is not None]
    if not rows:
        return ""
    values = [value for each in rows for value in _reach(found, each)]
    low, high = min(0.0, *values), max(0.0, *values)
    step = next((each for each in _STEPS if each * _MOST_STEPS >= high - low), (high - low) / _MOST_STEPS)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    height = _TOP + _ROW * len(rows) + 6

    def at(part: float) -> float:
        return _LEFT + (part / step - first) / (last - first) * (_RIGHT - _LEFT)

    root = element(
        "svg", element("title", f"what each scheme costs against {found.reference.name}, with its 95 % interval"), class_="changes",
        viewBox=f"0 0 {_WIDTH} {height}", role="img",
    )  # fmt: skip
    for position in range(first, last + 1):
        x = at(position * step)
        root.append(element("line", x1=x, x2=x, y1=_TOP - 6, y2=height - 4, class_="grid" if position else "zero"))
        root.append(text(x, _TOP - 12, words.percent(position * step), "scale", "middle"))
    bound = found.plan.at_most
    if bound is not None and bound <= last * step:
        root.append(element("line", x1=at(bound), x2=at(bound), y1=_TOP - 6, y2=height - 4, class_="bound"))
    for row, each in enumerate(rows):
        y = _TOP + _ROW * row + _ROW / 2
        penalty = found.penalty(each)
        assert penalty is not None
        kind = _KINDS.get(words.state(found, each), "chance")
        root.append(text(_NAMES, y + 4, each.name, "name", "end"))
        for one in found.ratios(each):
            root.append(element("circle", cx=at(one), cy=y, r=2.2, class_="pair"))
        if penalty.interval is not None:
            ends = tuple(map(at, penalty.interval))
            root.append(element("line", x1=ends[0], x2=ends[1], y1=y, y2=y, class_=f"interval {kind}"))
        root.append(element("circle", cx=at(penalty.value), cy=y, r=4.6, class_=f"change {kind}"))
        root.append(text(_RIGHT + 14, y + 4, words.percent(penalty.value), "value", None))
    return markup(root)


def _reach(found: Measured, each: SchemeRuns) -> list[float]:
    penalty = found.penalty(each)
    assert penalty is not None
    return [penalty.least, penalty.most, *(penalty.interval or ())]
