"""What the page says of each kind of question: one module for each part of the page.

Needs: base, topology, cells, measurement, model.diagnosis, model.prediction, nccl, verdict, report.blocks, report.charts,
report.explanations, report.figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.report.blocks import Block
from nearfar.report.figures import Figure
from nearfar.topology import Node

from . import provenance
from .by_subject import nccl_ring, subject_tables
from .cell_maps import legend, maps
from .figure_tables import every_figure
from .many_gpus import exchange_tables, ramps
from .node_state import findings_table, gpu_table, who_else
from .published import beside, modelled_type
from .size_curves import curves_over_size
from .unmeasured import Gap, gaps, nothing


def check_blocks(figures: list[Figure], document: Mapping[str, Any], node: Node | None) -> list[Block]:
    """Tables and curves of figures that are not of cells alone."""
    return [*curves_over_size(figures, document), *subject_tables(figures, document), *nccl_ring(document, node)]
