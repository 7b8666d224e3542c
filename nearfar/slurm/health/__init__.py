"""The look at one node for Slurm's ``HealthCheckProgram``, what it leaves behind, and how that is believed.

``look`` imports much and is imported only by the child that looks.

Needs: base, topology, topology.inventory, site, slurm.controller, slurm.results.
"""

from __future__ import annotations

from . import check, finding, kept_looks

# Scripts that sites have installed call `program` with `Order`.
from .check import LIMIT, OUTPUT, HealthOptions, program

#: As scripts that were installed before have it.
Order = HealthOptions

__all__ = [
    "LIMIT",
    "OUTPUT",
    "HealthOptions",
    "Order",
    "check",
    "finding",
    "kept_looks",
    "program",
]
