"""Small drawings as inline SVG and heat maps as tables.

Needs: base, cells, verdict, report.blocks, report.figures.
"""

from __future__ import annotations

from . import curves, strips
from .maps import Matrix, cell_map, load_place
from .places import (
    NOT_RUN,
    OVER,
    SKIPPED,
    CellGaps,
    Place,
    cell_anchor,
    evidence,
    figure_entry,
    gap_entry,
)
from .plot import Scale
from .strips import Mark
from .svg import element, markup, printable, text
