"""A node's capacities from measured cells (docs/method/calibration.md)."""

from __future__ import annotations

from .inference import Estimate
from .measured import MeasuredCell, beside_others, measured_cells
from .node_calibration import Calibration, Comparison, calibrate, node_type_of, told
from .objects import as_json

__all__ = [
    "Calibration",
    "Comparison",
    "Estimate",
    "MeasuredCell",
    "as_json",
    "beside_others",
    "calibrate",
    "measured_cells",
    "node_type_of",
    "told",
]
