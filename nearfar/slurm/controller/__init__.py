"""What slurmctld is asked and told: nodes, reservations, lists of node names.

Needs: base.
"""

from __future__ import annotations

from . import node_names, reservations
from .node_names import NAME
from .node_state import ORIGIN, NodeState
from .scontrol import OLDEST, NotSeen, Objection, Refused, Slurm, WrongOption
