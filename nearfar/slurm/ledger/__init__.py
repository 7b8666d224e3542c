"""The one file that ``nearfar slurm act`` keeps: what was found, what was done, which results were taken in, of which cluster.

Needs: base.
"""

from __future__ import annotations

from . import actions
from .actions import LedgerAction, Past, end_action, note_action
from .ledger import FILE, KEPT, Ledger
from .runs import (
    HARD,
    RUN,
    CheckRun,
    Evidence,
    LastVerdict,
    add_run,
    close_findings,
    evidence_in,
    last_measured,
    last_verdicts,
    runs_since,
    seconds,
    slow_nodes,
)
