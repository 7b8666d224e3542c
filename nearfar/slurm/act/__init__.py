"""``nearfar slurm act``: what is to be done about nodes, and doing it, on one admin host under a lock.

Needs: base, question, site, slurm.controller, slurm.findings, slurm.health, slurm.sweep, slurm.trust.
"""

from __future__ import annotations

from . import act, clear, explain, outside_slurm, release, retest, state_directory, view
from .decision import DRAIN
from .options import STATE, ActOptions, read_policy

__all__ = [
    "DRAIN",
    "STATE",
    "ActOptions",
    "act",
    "clear",
    "explain",
    "outside_slurm",
    "read_policy",
    "release",
    "retest",
    "state_directory",
    "view",
]
