"""A sweep: one exclusive job per node, few questions to slurmctld, one verdict per node and one page.

Needs: base, question, site, run, history, report, mpi, slurm.controller, slurm.results.
"""

from . import merge, node_run, node_selection, pair_rounds, pairing, plan, state_file, sweep_directory
from .job_loop import Pace
from .levels import CHOICES, LEVELS, PAIR, Level
from .node_selection import occupation
from .pairing import Pair
from .slurmctld import Controller
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
    "merge",
    "node_run",
    "node_selection",
    "occupation",
    "pair_rounds",
    "pairing",
    "plan",
    "state_file",
    "sweep_directory",
]
