"""``nearfar slurm act``: what is to be done about nodes, and doing it, on one admin host under a lock.

Needs: base, question, site, slurm.controller, slurm.results, slurm.health, slurm.sweep, slurm.findings.
"""

from __future__ import annotations

from . import act, explain, outside_slurm, retest
from .decide import DRAIN

__all__ = [
    "DRAIN",
    "act",
    "explain",
    "outside_slurm",
    "retest",
]
