"""Which degraded parts explain a node's slow figures (benchmarks/studies/diagnosis.md).

Needs: base, topology, cells, measurement, model.calibration, model.prediction.
"""

from __future__ import annotations

from .gaps import Gaps, gaps_of
from .healthy import Healthy, HealthyRuns, from_reference, healthy_runs
from .node_diagnosis import Diagnosis, SlowCell, diagnose
from .parts import DegradedPart, Part, degraded_by, parts_of
from .text import ORIGINS, as_json, nothing_slow, repair, sentence, undetermined
