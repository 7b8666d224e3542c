"""The check of one node for slurmd, what it leaves behind, and how that is believed; on hard evidence a node drains itself.

Needs: base, topology, topology.inventory, site, prometheus, slurm.controller, slurm.drains, slurm.trust.
"""

from __future__ import annotations

from . import check, finding_files
from .check import FOUND, program
from .look import LIMIT, OUTPUT, QUICK_LIMIT, HealthOptions
from .messages import SHOWN_ONCE
