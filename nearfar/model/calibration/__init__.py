"""A node's capacities from measured cells (benchmarks/studies/calibration.md).

Needs: base, topology, cells, measurement, model.prediction.
"""

from __future__ import annotations

from .inference import CLASS
from .measured import MeasuredCell, beside_others, measured_cells
from .node_calibration import Calibration, Comparison, as_json, calibrate, estimate_text, node_type_of
