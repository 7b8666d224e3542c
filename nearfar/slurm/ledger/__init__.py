"""The one file that ``nearfar slurm act`` keeps: what was found, what was done, which results were taken in, of which cluster.

Needs: base.
"""

from __future__ import annotations

from . import actions
from .actions import LedgerAction, OurDrain, Past, SeenTo, begin_action, end_action, note_action, past
from .check_run import RUN, CheckRun, Evidence, seconds
from .ledger import FILE, KEPT, RECENT_ACTION, Ledger
from .runs import (
    FigureEntry,
    LastVerdict,
    add_run,
    close_findings,
    evidence_in,
    last_measured,
    last_verdicts,
    open_evidence,
    runs_since,
    slow_nodes,
)
