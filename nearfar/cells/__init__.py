"""Cells: the notation, the standard sets, path classes, and the names that cells have as metrics (docs/notation.md)."""

from __future__ import annotations

from .classes import cell_class, flow_class
from .generators import Skip, host_device_matrix, stream_matrix
from .names import MetricName, decode_cell, encode_cell, metric_name, parse_metric_name
from .notation import KERNELS, Cell, CellError, Endpoint, Flow, parse, parse_lines, pretty

__all__ = [
    "KERNELS",
    "Cell",
    "CellError",
    "Endpoint",
    "Flow",
    "MetricName",
    "Skip",
    "cell_class",
    "decode_cell",
    "encode_cell",
    "flow_class",
    "host_device_matrix",
    "metric_name",
    "parse",
    "parse_lines",
    "parse_metric_name",
    "pretty",
    "stream_matrix",
]
