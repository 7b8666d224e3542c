"""What a run leaves in a shared results directory, how it is published there, and how it is read.

Needs: base, verdict, slurm.trust.
"""

from __future__ import annotations

from . import figures_file, publish_result, result, results_directory
from .pair import Pair, joined, parted
from .publish_result import make_for_all
from .result import CheckResult, NodeResult, RunInfo

__all__ = [
    "CheckResult",
    "NodeResult",
    "Pair",
    "RunInfo",
    "figures_file",
    "joined",
    "make_for_all",
    "parted",
    "publish_result",
    "result",
    "results_directory",
]
