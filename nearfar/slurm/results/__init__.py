"""What a run leaves in a shared results directory, how it is published there, and whose files are believed.

Needs: base, verdict.
"""

from __future__ import annotations

from . import publish_result, result, root_safe
from .publish_result import RunInfo, make_for_all
from .result import Job, NodeResult, ResultFinding
from .trust import Trust, own

__all__ = [
    "Job",
    "NodeResult",
    "ResultFinding",
    "RunInfo",
    "Trust",
    "make_for_all",
    "own",
    "publish_result",
    "result",
    "root_safe",
]
