"""Output of other tools (nvbandwidth, nccl-tests, …) as measurement documents of kind ``foreign``, judged and shown as a run.

Needs: base, topology, cells, measurement, model, model.prediction, model.typical, collective, mpi.osu, nccl, question, verdict,
verdict.references, site, report, run.
"""

from __future__ import annotations

from . import thresholds
from .importing import DOCUMENT, SYSTEM, import_outputs
from .reading import can_be_imported
