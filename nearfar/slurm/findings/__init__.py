"""What results and health checks found: believed, taken into the ledger once, and which of it is confirmed.

Needs: base, site, slurm.health, slurm.ledger, slurm.results, slurm.sweep, slurm.trust.
"""

from __future__ import annotations

from . import confirmation, intake
from .confirmation import WRONG_DATA, SharedFault, blamed, fails
from .intake import Intake, runs_of_sweep
