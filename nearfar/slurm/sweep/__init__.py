"""A sweep: one exclusive job per node, few questions to slurmctld, one verdict per node and one page.

Needs: base, question, site, run, history, report, mpi, slurm.controller, slurm.results.
"""

from . import measure, merge, node_run, pairing, pairs, plan, session, state_file
from .controller import Controller
from .levels import CHOICES, PACKS, PAIR, Pack
from .loop import Pace
from .pairing import Pair
from .plan import occupation
from .state_file import Journal, Plan, Task

__all__ = [
    "CHOICES",
    "PACKS",
    "PAIR",
    "Controller",
    "Journal",
    "Pace",
    "Pack",
    "Pair",
    "Plan",
    "Task",
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
