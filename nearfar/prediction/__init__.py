"""What a node's paths should carry: capacities, max-min shares and what limits them; physical ceilings of links.

``docs/prediction.md`` states the rules; ``site/nodes/`` holds the node types.
"""

from __future__ import annotations

from .ceilings import line_rate, link_ceiling, peer_ceiling, peer_link
from .max_min import Constraint, max_min
from .modelled import modelled_document
from .node_types import Capacity, NodeType, load_node_type
from .rates import Prediction, degraded, predict

__all__ = [
    "Capacity",
    "Constraint",
    "NodeType",
    "Prediction",
    "degraded",
    "line_rate",
    "link_ceiling",
    "load_node_type",
    "max_min",
    "modelled_document",
    "peer_ceiling",
    "peer_link",
    "predict",
]
