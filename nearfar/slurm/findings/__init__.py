"""What is known of each node: findings that are believed, which of them are confirmed, and what the log of ``act`` says.

Needs: base, cells, mpi, mpi.osu, question, site, slurm.controller, slurm.drains, slurm.health, slurm.results, slurm.sweep,
slurm.trust.
"""

from __future__ import annotations

from nearfar.slurm.drains import (
    drained_by_us,
    objection_to_comment,
    objection_to_drain,
    objections,
    our_comment,
    our_reason,
    reasons,
    unreadable,
)

from . import confirmation, deaths, hard_evidence
from .check_run import RUN, CheckRun
from .confirmation import fails
from .evidence import Evidence, Intervention
from .flaps import Flaps
from .gathering import CLOCKS, TimeRange, gather, of_sweep
from .hard_evidence import HardEvidence, that_drains
from .interventions import back_in_use, drained_by_others, reboots, resumed_by_others
from .kept_readings import KeptReadings
from .log import ActLog, Entry
from .log_summary import LogSummary, OurDrain, log_line, summarize
from .reconcile import SlurmView, drains_seen, reconciled
from .shared_faults import WRONG_DATA, SharedFault, blamed

__all__ = [
    "CLOCKS",
    "RUN",
    "WRONG_DATA",
    "ActLog",
    "CheckRun",
    "Entry",
    "Evidence",
    "Flaps",
    "HardEvidence",
    "Intervention",
    "KeptReadings",
    "LogSummary",
    "OurDrain",
    "SharedFault",
    "SlurmView",
    "TimeRange",
    "back_in_use",
    "blamed",
    "confirmation",
    "deaths",
    "drained_by_others",
    "drained_by_us",
    "drains_seen",
    "fails",
    "gather",
    "hard_evidence",
    "log_line",
    "objection_to_comment",
    "objection_to_drain",
    "objections",
    "of_sweep",
    "our_comment",
    "our_reason",
    "reasons",
    "reboots",
    "reconciled",
    "resumed_by_others",
    "summarize",
    "that_drains",
    "unreadable",
]
