"""A sweep: one exclusive job per node, few questions to slurmctld, one verdict per node and one page.

What plans, runs and merges sweeps imports much (the checks, the pages), and only those who name it do: ``act`` has no use for it.

Needs: base, topology, mpi.osu, question, verdict, site, history, report.batch, run, slurm.controller,
slurm.results, slurm.trust.
"""

from . import slurm_jobs, sweep_file
from .slurm_jobs import Pace
from .sweep_file import CHOICES, LEVELS, Level, Sweep, SweepJob

#: Modules that only those load who need them.
__all__ = ["begin_or_resume", "job_loop", "merge", "node_run", "pair_rounds"]
