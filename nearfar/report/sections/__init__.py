"""What the page says of each kind of question: one module for each part of the page.

Needs: base, topology, cells, measurement, kernels, model.diagnosis, model.prediction, binding, mpi, mpi.osu, nccl, verdict, report.blocks,
report.charts, report.explanations, report.figures, report.node_drawing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.report.blocks import Block
from nearfar.report.figures import Figure
from nearfar.topology import Node

from . import provenance
from .balance import balances
from .cell_maps import legend, maps, ratio_blocks
from .contention import contention_tables
from .explaining import modelled_type, uplink_rates, used_capacities
from .figure_tables import every_figure
from .kernels import kernel_blocks
from .many_gpus import exchange_tables, ramps
from .mpi import collective_blocks, mpi_tables, numa_pair_tables
from .node_state import findings_table, gpu_table, state_line
from .published import beside
from .size_curves import curves_over_size
from .unmeasured import Gap, gaps, nothing


def check_blocks(figures: list[Figure], document: Mapping[str, Any], node: Node | None) -> list[Block]:
    """Tables and curves of figures that are not of cells alone."""
    return [
        *curves_over_size(figures, document),
        *mpi_tables(figures, document),
        *collective_blocks(figures, document, node),
        *numa_pair_tables(figures),
        *balances(document),
        *contention_tables(document),
        *kernel_blocks(document),
    ]
