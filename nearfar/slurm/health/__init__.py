"""The look at one node for Slurm's ``HealthCheckProgram``, what it leaves behind, and how that is believed.

``look`` and ``finding`` import much: the former is imported only by the child that looks, the latter by those who read what it left.

Needs: base, topology, topology.inventory, site, prometheus, slurm.controller, slurm.results, slurm.trust.
"""

from __future__ import annotations

from . import check, kept_looks
from .check import FOUND, LIMIT, OUTPUT, QUICK_LIMIT, HealthOptions, program

__all__ = [
    "FOUND",
    "LIMIT",
    "OUTPUT",
    "QUICK_LIMIT",
    "HealthOptions",
    "check",
    "finding",
    "kept_looks",
    "program",
]
