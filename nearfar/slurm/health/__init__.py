"""The look at one node for Slurm's ``HealthCheckProgram``, what it leaves behind, and how that is believed.

``look`` imports much and is imported only by the child that looks. Needs: base, topology, site, slurm.controller, slurm.results.
"""

from __future__ import annotations

from . import check, finding, kept_looks

# Scripts that sites have installed call `program(Order(…))` by these names.
from .check import LIMIT, OUTPUT, Order, program

__all__ = [
    "LIMIT",
    "OUTPUT",
    "Order",
    "check",
    "finding",
    "kept_looks",
    "program",
]
