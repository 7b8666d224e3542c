"""What a node's paths should carry: capacities, max-min shares and what limits them; physical ceilings of links.

``docs/method/prediction.md`` states the rules; ``site/nodes/`` holds the node types.

Needs: base, topology, cells.
"""

from __future__ import annotations

from .ceilings import line_rate, link_ceiling, peer_ceiling, peer_link
from .compiled import CompiledCell, known_values
from .fair_shares import Constraint, max_min
from .modelled import modelled_document
from .node_types import (
    Capacity,
    NodeType,
    check_endpoints,
    from_file,
    implied_capacities,
    load_node_type,
    plain,
    switches,
)
from .rates import READ_AND_WRITTEN, Prediction, degraded, predict

__all__ = [
    "READ_AND_WRITTEN",
    "Capacity",
    "CompiledCell",
    "Constraint",
    "NodeType",
    "Prediction",
    "check_endpoints",
    "degraded",
    "from_file",
    "implied_capacities",
    "known_values",
    "line_rate",
    "link_ceiling",
    "load_node_type",
    "max_min",
    "modelled_document",
    "peer_ceiling",
    "peer_link",
    "plain",
    "predict",
    "switches",
]
