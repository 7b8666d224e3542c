"""Small drawings as inline SVG, the node as boxes, and heat maps as tables.

Needs: base, topology, cells, verdict, report.blocks, report.figures.
"""

from __future__ import annotations

from . import strips
from .maps import Matrix, cell_map, load_place
from .node_drawing import Findings, draw
from .places import (
    NOT_RUN,
    OVER,
    SKIPPED,
    CellGaps,
    cell_anchor,
    evidence,
    figure_entry,
    gap_entry,
)
from .plot import CurveLine, Scale, over_sizes
from .strips import Mark
from .svg import element, markup, printable
