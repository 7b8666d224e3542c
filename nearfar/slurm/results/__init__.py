"""What a run leaves in a shared results directory, how it is published there, and whose files are believed.

Needs: base, verdict, verdict.references.
"""

from __future__ import annotations

from . import publish_result, result, root_safe
from .pair import Pair, joined, parted
from .publish_result import make_for_all
from .result import NodeResult, ResultFinding, RunInfo
from .trust import Trust, own

__all__ = [
    "NodeResult",
    "Pair",
    "ResultFinding",
    "RunInfo",
    "Trust",
    "joined",
    "make_for_all",
    "own",
    "parted",
    "publish_result",
    "result",
    "root_safe",
]
