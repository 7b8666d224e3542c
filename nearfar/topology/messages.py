"""What differs between a node and what ``source`` (the site's file, an earlier run) says of it."""

from __future__ import annotations

from functools import partial

from nearfar.base import Message

_PAGE = "guide/describe-your-system.md"
_differs = partial(Message, verdict="FAIL", hard=True, page=_PAGE)
_FIRMWARE = "look at the firmware's NUMA settings (nodes per socket, sub-NUMA clustering)"
_RESEAT = "reseat it and look at its slot, riser and cable"

PACKAGES = _differs("packages.count", sentence="{found:#processor package}, {source} says {expected}")
NUMA_COUNT = _differs(
    "numa.count", sentence="{found:#NUMA node} with host memory, {source} says {expected}", next=_FIRMWARE
)
NUMA_WITHOUT_MEMORY = _differs(
    "numa.without_memory", sentence="NUMA node {numa_node} has no memory", next="look at its memory modules"
)
NUMA_MISSING = _differs(
    "numa.missing", sentence="NUMA node {numa_node} is missing", next=f"{_FIRMWARE}, and at the processors"
)
NUMA_UNEXPECTED = _differs(
    "numa.unexpected", sentence="NUMA node {numa_node} is not what {source} says", next=_FIRMWARE
)
MEMORY = _differs(
    "memory.size", sentence="{found:.0f} GiB of host memory, {source} says {expected:.0f} GiB",
    next="look at the memory modules",
)  # fmt: skip
GPU_COUNT = _differs("gpu.count", sentence="{found:#GPU} on this node, {source} says {expected}")
GPU_SLOT = _differs("gpu.slot", sentence="GPU {gpu} is at {found}, {source} says {expected}: it is in another slot")
GPU_NONE_ON_BUS = _differs(
    "gpu.none_on_bus", sentence="none of the {expected} GPUs is on the PCI bus",
    next="look for their power, the baseboard, or what passes them into a virtual machine",
)  # fmt: skip
GPU_MISSING = _differs(
    "gpu.missing", sentence="GPU {gpu}[ ({model})] is missing at {pci}",
    next="look for Xid 79 in the kernel's log, then reseat it",
)  # fmt: skip
GPU_UNEXPECTED = _differs("gpu.unexpected", sentence="a GPU[ ({model})] that {source} does not have is at {pci}")
GPU_DRIVER = _differs(
    "gpu.driver", sentence="GPU {gpu} at {pci} does not answer the driver ({fault})",
    next="look for Xid messages in the kernel's log, then power-cycle the node",
)  # fmt: skip
GPU_MODEL = _differs("gpu.model", sentence="GPU {gpu} at {pci} is a {found}, {source} says {expected}")
GPU_SWAPPED = _differs("gpu.swapped", sentence="the GPU at {pci} is the one that was GPU {was} at {was_at}: swapped")
GPU_MODE = _differs(
    "gpu.mode", sentence="GPU {gpu} at {pci}: {mode} is {found}, {source} says {expected}", next="set it with nvidia-smi"
)  # fmt: skip
GPU_NUMA_NODE = _differs(
    "gpu.numa_node", sentence="GPU {gpu} at {pci} should be on NUMA node {expected}, it is on node {found}", next=_FIRMWARE
)  # fmt: skip
GPU_NUMA_UNKNOWN = _differs(
    "gpu.numa_unknown",
    sentence="GPU {gpu} at {pci} should be on NUMA node {expected}, the system does not say which it is on",
    next=_FIRMWARE,
)  # fmt: skip
LINK_KIND = _differs("link.kind", sentence="GPU {gpu} at {pci} reaches the host over {found}, {source} says {expected}")
LINK_GENERATION = _differs(
    "link.generation",
    sentence="GPU {gpu} at {pci}: its {kind} link {when} generation {found}, {source} says {expected}", next=_RESEAT,
)  # fmt: skip
LINK_WIDTH = _differs(
    "link.width", sentence="GPU {gpu} at {pci}: its {kind} link {when} x{found}, {source} says x{expected}", next=_RESEAT
)  # fmt: skip
NVLINK_GENERATION = _differs(
    "nvlink.generation", sentence="GPU {gpu} at {pci} has NVLink {found}, {source} says NVLink {expected}"
)
NVLINK_LANES = _differs(
    "nvlink.lanes", sentence="GPU {gpu} at {pci} has {found:#active NVLink lane}, {source} says {expected}",
    next="look at nvidia-smi nvlink --status",
)  # fmt: skip
PEER_LINK = _differs("peer.link", sentence="GPUs {gpu} and {peer} are joined by {found}, {source} says {expected}")
NIC_COUNT = _differs("nic.count", sentence="{found:#NIC} on this node, {source} says {expected}")
NIC_MISSING = _differs(
    "nic.missing", sentence="the NIC {nic} at {pci} is missing", next="look at its driver, then reseat it"
)
NIC_NUMA_NODE = _differs(
    "nic.numa_node", sentence="the NIC {nic} at {pci} is on NUMA node {found}, {source} says {expected}"
)
