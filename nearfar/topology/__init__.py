"""What a node is made of: packages, NUMA nodes, GPUs, NICs, the bridges between them, and the class of every path.

Pure: built from hwloc XML text or from a document's ``node`` object, never from the machine that runs this code; ``inventory``
reads the machine.

Needs: base.
"""

from . import settings
from .bitmaps import format_cpu_list, parse_cpu_list
from .comparison import compare
from .dimm_channels import UnknownPeakError, channels_in_words, memory_peaks, with_peaks_of
from .hwloc_xml import as_stored, parse_hwloc_xml
from .messages import GPU_MODEL
from .node_json import node_from_document, node_to_document
from .parts import LINK_KINDS, NOT_MEASURED, Gpu, Link, Nic, Node, NumaNode, Package
from .path_classes import (
    HOST_CLASSES,
    LOCAL_CLASS,
    OWN_LINKS,
    PEER_CLASSES,
    behind_nvswitch,
    host_class,
    nic_class,
    peer_class,
    shared_uplinks,
)
from .pci import AMD, amd_name, bus_order, generation, is_gpu, measured_or_all, normal_bus_id
from .settings import (
    SETTINGS,
    Setting,
    by_value,
    setting_values,
    spread,
    spread_settings,
    written_settings,
)
from .smbios import MemoryDevice, memory_devices
from .stored import stored_node
from .text import draw
