"""What a node is made of: packages, NUMA nodes, GPUs, NICs, the bridges between them, and the class of every path.

Pure: built from hwloc XML text or from a document's ``node`` object, never from the machine that runs this code.
"""

from nearfar.topology.bitmaps import format_cpu_list, parse_cpu_list
from nearfar.topology.comparison import Difference, compare
from nearfar.topology.document import node_from_document, node_to_document
from nearfar.topology.hwloc_xml import parse_hwloc_xml
from nearfar.topology.parts import Gpu, Link, Nic, Node, NumaNode, Package
from nearfar.topology.path_classes import (
    HOST_CLASSES,
    PEER_CLASSES,
    behind_nvswitch,
    host_class,
    nic_class,
    peer_class,
    shared_uplinks,
)

__all__ = [
    "HOST_CLASSES",
    "PEER_CLASSES",
    "Difference",
    "Gpu",
    "Link",
    "Nic",
    "Node",
    "NumaNode",
    "Package",
    "behind_nvswitch",
    "compare",
    "format_cpu_list",
    "host_class",
    "nic_class",
    "node_from_document",
    "node_to_document",
    "parse_cpu_list",
    "parse_hwloc_xml",
    "peer_class",
    "shared_uplinks",
]
