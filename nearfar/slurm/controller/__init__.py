"""What slurmctld is asked and told: nodes, reservations, lists of node names, and the text that Slurm is given.

Needs: base.
"""

from __future__ import annotations

from . import node_names, reservations, templates
from .node_names import NAME
from .node_state import NodeState
from .scontrol import OLDEST, Objection, Refused, Slurm, WrongOption

__all__ = [
    "NAME",
    "OLDEST",
    "NodeState",
    "Objection",
    "Refused",
    "Slurm",
    "WrongOption",
    "node_names",
    "reservations",
    "templates",
]
