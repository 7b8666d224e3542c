"""What explains a node's figures beside its verdicts: the capacities that a run's own single flows show, and the parts that are degraded.

Needs: base, topology, cells, measurement, model.calibration, model.diagnosis, model.prediction, question, verdict,
report.blocks, report.figures.
"""

from __future__ import annotations

from .capacities import Capacities
from .explained import Answer, Explained, answers, explain, shared_rates
from .faults import Faults
from .merged_document import or_note
