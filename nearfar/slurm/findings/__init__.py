"""What is known of each node: findings that are believed, which of them are confirmed, and what the log of ``act`` says.

Needs: base, cells, mpi, site, slurm.controller, slurm.results, slurm.health, slurm.sweep.
"""

from __future__ import annotations

from . import confirmation, hard_evidence, objections, reasons
from .check_run import RUN, CheckRun, LogSummary, OurDrain, RecordedEvidence, shown
from .confirmation import WRONG_DATA, FailOfRun, SharedFault, blamed, evidence
from .gathering import CLOCKS, TimeRange, gather, of_sweep
from .hard_evidence import TOPOLOGY, HardEvidence, Intervention, drained_by_others, resumed_by_others, that_drains
from .log import ActLog
from .log_summary import SlurmView, kept, line_of, past, settled
from .objections import drained_by_us, objection_to_comment, objection_to_drain, our_comment, our_reason, unreadable

__all__ = [
    "CLOCKS",
    "RUN",
    "TOPOLOGY",
    "WRONG_DATA",
    "ActLog",
    "CheckRun",
    "FailOfRun",
    "HardEvidence",
    "Intervention",
    "LogSummary",
    "OurDrain",
    "RecordedEvidence",
    "SharedFault",
    "SlurmView",
    "TimeRange",
    "blamed",
    "confirmation",
    "drained_by_others",
    "drained_by_us",
    "evidence",
    "gather",
    "hard_evidence",
    "kept",
    "line_of",
    "objection_to_comment",
    "objection_to_drain",
    "objections",
    "of_sweep",
    "our_comment",
    "our_reason",
    "past",
    "reasons",
    "resumed_by_others",
    "settled",
    "shown",
    "that_drains",
    "unreadable",
]
