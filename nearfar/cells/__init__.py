"""Cells: the notation, the standard sets, path classes, and the names that cells have as metrics (docs/reference/notation.md).

Needs: base, topology.
"""

from __future__ import annotations

from .beside_cells import beside_products, beside_stream
from .classes import cell_class, flow_class
from .exchange_cells import (
    ALL_TO_ONE,
    ONE_TO_ALL,
    ONE_WAY,
    PAIRS,
    Exchange,
    bisection,
    divided_by_the_fabric,
    exchange_of,
    exchanges,
)
from .lone_cells import latency_cells, single_paths, size_sweep, tail_cells
from .matrices import Skip, host_device_cells, host_device_matrix, stream_left_out, stream_matrix
from .memory_cells import gpu_memory, memory_kernels, one_pageable
from .names import (
    DERIVED,
    decode_cell,
    encode_cell,
    join_class,
    metric_name,
    parse_metric_name,
    split_class,
)
from .notation import (
    COMPUTE_KERNELS,
    CORE_SHARES,
    ENDPOINTS,
    FLOWS,
    GPU_KERNELS,
    KERNELS,
    OPTIONS,
    Cell,
    CellError,
    Endpoint,
    Flow,
    pretty,
)
from .parsing import parse, parse_lines, parsed
from .peers import peer_matrix
from .ramps import WAYS, Load, load_of, saturation_ramps, sharing_ramps, whole_loads
