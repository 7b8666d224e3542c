"""What a run leaves in a shared results directory, how it is published there, and how it is read.

Needs: base, verdict, slurm.ledger, slurm.trust.
"""

from __future__ import annotations

from . import publish_result, result, results_directory
from .publish_result import make_for_all
from .result import NodeResult, Pair, RunInfo, joined, parted
