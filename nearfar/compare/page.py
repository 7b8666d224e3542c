"""The comparison as one page that needs no other file: for the people who were not there. ``compare.html`` with what it needs."""

from __future__ import annotations

from collections.abc import Sequence

import nearfar
from nearfar.base import second_text
from nearfar.report import rendered
from nearfar.report.figures import plural, unit_words
from nearfar.report.sections import provenance

from . import settings, words
from .changes import BUDGET, FigureChange
from .chart import chart
from .comparison import RunComparison
from .sides import Side

#: Rows of the chart at most.
_DRAWN = 40
#: Pairs of figures that the page lists; of more nodes than that, those of all nodes together and the significant ones.
MOST_ROWS = 3000


def render(comparison: RunComparison, at_most: float | None) -> str:
    """The page, one self-contained HTML document; ``at_most`` is the bound on what is worse, as a part."""
    several = len(comparison.nodes) > 1
    whole = len(comparison.changes) <= MOST_ROWS
    shown = [change for change in comparison.changes if whole or change.across or change.significant]
    return rendered("compare.html", {
        "found": comparison, "words": words, "several": several, "at_most": at_most, "answer": words.answer(comparison),
        "against": None if at_most is None else words.against(comparison, at_most),
        "worse_than_allowed": at_most is not None and bool(comparison.beyond(at_most)),
        "drawing": chart(drawn, several, at_most) if (drawn := _drawn(comparison)) else "",
        "shown": shown, "checks": list(dict.fromkeys(change.check for change in shown)), "stamps": _stamps(comparison),
        "commands": {"before": _commands(comparison.before), "after": _commands(comparison.after)}, "command": provenance.command,
        "budget": BUDGET, "plural": plural, "unit_words": unit_words, "version": nearfar.__version__, "made": second_text(),
    })  # fmt: skip


def _drawn(comparison: RunComparison) -> Sequence[FigureChange]:
    """What is significant; where nothing is, what was tested."""
    return (comparison.significant or [change for change in comparison.tested if not change.across])[:_DRAWN]


def _stamps(comparison: RunComparison) -> list[tuple[str, str, str, str, str]]:
    """Node, part, what, and its values on both sides."""
    rows = []
    for before, after in comparison.nodes:
        sides = [comparison.before.node(before), comparison.after.node(after)]
        first, second = ({} if side is None else settings.stamps(side) for side in sides)
        for part, what in {**first, **second}:
            earlier, later = (", then ".join(stamps.get((part, what), ())) or "not said" for stamps in (first, second))
            rows.append((after, part, what, earlier, later))
    return rows


def _commands(side: Side) -> list[tuple[str, str, str]]:
    """Check, program with its version, and command, of each check of the side's first run."""
    rows: dict[str, tuple[str, str, str]] = {}
    for node in side.nodes:
        for check in node.checks:
            program = check.document.get("program", {})
            if program.get("command"):
                name = " ".join(str(program[key]) for key in ("name", "version") if program.get(key))
                rows.setdefault(check.name, (check.name, name, provenance.command(program["command"])))
    return list(rows.values())
