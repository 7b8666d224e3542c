"""Two runs, or two sets of runs, compared: pairs of figures, which changes are more than chance, what changed beside them.

Gives ``compare`` (run directories → ``RunComparison``), and the comparison as blocks and JSON document. Reads what the judge left;
nothing here measures or judges again. The statistics are in benchmarks/studies/compare.md.

Needs: base, topology, cells, measurement, verdict, report, report.blocks, report.charts, report.figures, report.sections.
"""

from __future__ import annotations

from . import blocks, changes, document, sides, spreads
from .blocks import shown
from .changes import FigureChange
from .comparison import compare
