"""Two runs, or two sets of runs, compared: pairs of figures, which changes are more than chance, what changed beside them.

Gives ``compare`` (run directories → ``RunComparison``), and the comparison as text, JSON document and page. Reads what the judge left;
nothing here measures or judges again. The statistics are in docs/method/comparing.md.

Needs: base, topology, cells, measurement, verdict, report, report.charts, report.figures, report.sections.
"""

from __future__ import annotations

from . import changes, document, page, sides, spreads, terminal
from .changes import FigureChange
from .comparison import OnlyOne, RunComparison, compare
from .settings import ChangedSetting


def text(comparison: RunComparison, everything: bool = False, at_most: float | None = None) -> str:
    """The comparison for a terminal; ``everything``: every pair of figures; ``at_most``: the bound on what is worse, as a part."""
    return "\n".join(terminal.lines(comparison, everything, at_most))
