"""Drains of ours in Slurm: the reason that one carries, why a node must not be drained or resumed, and how many more may be.

Needs: base, cells, site, slurm.controller.
"""

from __future__ import annotations

from . import messages, objections, reasons
from .objections import DrainCaps, carries, died, drained_by_prolog, drained_by_us, objection_to_drain, our_reason
