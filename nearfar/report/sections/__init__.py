"""What the page says of each kind of question: one module for each part of the page.

Needs: base, topology, cells, measurement, kernels, model.diagnosis, model.prediction, binding, mpi, mpi.osu, nccl, verdict, report.blocks,
report.charts, report.explanations, report.figures, report.node_drawing.
"""

from __future__ import annotations

from . import provenance
from .balance import balances
from .cell_maps import maps, ratio_maps
from .explaining import capacity_blocks, fault_blocks, uplink_rates
from .many_gpus import exchange_tables, ramps
from .modelled_capacities import used_capacities
from .node_state import findings_table, gpu_table, state_line
from .of_check import check_blocks
from .published import beside
from .size_curves import curves_over_size
from .unmeasured import Gap, gaps, nothing
