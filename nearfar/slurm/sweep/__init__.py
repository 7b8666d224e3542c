"""A sweep: one exclusive job per node, few questions to slurmctld, one verdict per node and one page.

Needs: base, question, site, run, history, report, mpi, slurm.controller, slurm.results.
"""

from . import measure, merge, node_run, pairing, pairs, plan, session, state_file
from .controller import Controller
from .levels import CHOICES, LEVELS, PAIR, Level
from .loop import Pace
from .pairing import Pair
from .plan import occupation
from .state_file import SweepJob, SweepPlan, SweepState

__all__ = [
    "CHOICES",
    "LEVELS",
    "PAIR",
    "Controller",
    "Level",
    "Pace",
    "Pair",
    "SweepJob",
    "SweepPlan",
    "SweepState",
    "measure",
    "merge",
    "node_run",
    "occupation",
    "pairing",
    "pairs",
    "plan",
    "session",
    "state_file",
]
