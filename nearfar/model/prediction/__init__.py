"""What a node's paths should carry: capacities, max-min shares and what limits them; physical ceilings of links.

``benchmarks/studies/prediction.md`` states the rules; ``site/nodes/`` holds the node types.

Needs: base, topology, cells.
"""

from __future__ import annotations

from .capacities import Capacity, implied_capacities, switches
from .ceilings import flow_link, lanes_ceiling, lanes_fault, line_rate, link_ceiling, link_fault, peer_link
from .compiled import CompiledCell, known_values
from .crossings import READ_AND_WRITTEN
from .fair_shares import Constraint, max_min
from .host_peers import link_of
from .host_peers import with_them as with_host_peers
from .modelled import modelled_document
from .most import most_of
from .node_types import NodeType, check_endpoints, from_file, load_node_type, of_topology, plain
from .rates import Prediction, degraded, healthy_value, predict
from .unknown import not_known
