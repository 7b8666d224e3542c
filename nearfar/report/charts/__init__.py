"""Small drawings as inline SVG and heat maps as tables.

Needs: base, cells, measurement, verdict, report.figures.
"""

from __future__ import annotations

from . import changes, curves, strips
from .matrices import (
    ABSENT,
    FIGURE,
    MIRROR,
    SELF,
    SKIPPED,
    CellGaps,
    Matrix,
    Place,
    cell_anchor,
    cell_map,
    core_share_matrices,
    evidence,
    host_device_matrices,
    host_map,
    load_place,
    ratio_matrices,
    stream_matrices,
    with_sum,
)
from .svg import element, markup, printable, text
