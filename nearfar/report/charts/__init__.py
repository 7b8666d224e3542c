"""Small drawings as inline SVG and heat maps as tables.

Needs: base, cells, verdict, report.blocks, report.figures.
"""

from __future__ import annotations

from . import curves, strips
from .matrices import (
    ABSENT,
    MIRROR,
    NEAR,
    NOT_RUN,
    SELF,
    SKIPPED,
    CellGaps,
    Matrix,
    Place,
    cell_anchor,
    cell_map,
    evidence,
    figure_entry,
    gap_entry,
    load_place,
)
from .plot import Scale
from .strips import Mark
from .svg import element, markup, printable, text
