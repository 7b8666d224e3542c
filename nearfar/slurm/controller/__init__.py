"""What slurmctld is asked and told: nodes, reservations, lists of node names, and the text that Slurm is given.

Needs: base.
"""

from __future__ import annotations

from . import node_names, reservations, templates
from .node_names import NAME
from .node_state import NodeState
from .scontrol import OLDEST, Misused, Objection, Refused, Slurm

__all__ = [
    "NAME",
    "OLDEST",
    "Misused",
    "NodeState",
    "Objection",
    "Refused",
    "Slurm",
    "node_names",
    "reservations",
    "templates",
]
