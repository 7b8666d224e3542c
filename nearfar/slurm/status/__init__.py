"""``nearfar slurm status``: the fleet in one screen, one node in full, what was done, and whether what watches is alive.

Needs: base, site, slurm.act, slurm.controller, slurm.findings, slurm.ledger.
"""

from __future__ import annotations

from . import status_page
from .status_page import watchers
