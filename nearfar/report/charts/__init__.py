"""Small drawings as inline SVG and heat maps as tables.

Needs: base, cells, verdict, report.figures.
"""

from __future__ import annotations

from . import curves, strips
from .matrices import (
    ABSENT,
    MIRROR,
    NEAR,
    SELF,
    SKIPPED,
    CellGaps,
    Matrix,
    Place,
    cell_anchor,
    cell_map,
    evidence,
    load_place,
)
from .plot import Scale
from .strips import Mark
from .svg import element, markup, printable, text
