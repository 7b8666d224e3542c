"""``nearfar slurm act``: what is to be done about nodes, and doing it, on one admin host under a lock.

Needs: base, question, site, slurm.controller, slurm.drains, slurm.findings, slurm.health, slurm.results, slurm.sweep, slurm.trust.
"""

from __future__ import annotations

from . import (
    act,
    clear,
    drain_caps,
    explain,
    held_nodes,
    messages,
    outside_slurm,
    release,
    retest,
    state_directory,
    view,
)
from .decision import COMMENT, DRAIN, HELD, NOTHING, RESUME, Decision, headline
from .last_read import LastRead
from .options import STATE, ActOptions, read_policy
from .view import ActView

__all__ = [
    "COMMENT",
    "DRAIN",
    "HELD",
    "NOTHING",
    "RESUME",
    "STATE",
    "ActOptions",
    "ActView",
    "Decision",
    "LastRead",
    "act",
    "clear",
    "drain_caps",
    "explain",
    "headline",
    "held_nodes",
    "messages",
    "outside_slurm",
    "read_policy",
    "release",
    "retest",
    "state_directory",
    "view",
]
