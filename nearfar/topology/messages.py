"""What differs between a node and its description in ``source`` (the site's file, an earlier run)."""

from __future__ import annotations

from functools import partial

from nearfar.base import Message

_PAGE = "describe.md"
_differs = partial(Message, verdict="FAIL", hard=True, page=_PAGE)
_FIRMWARE = "check the firmware's NUMA settings (nodes per socket, sub-NUMA clustering)"
_RESEAT = "reseat it, and check slot, riser and cable"

PACKAGES = _differs("packages.count", sentence="{found:#processor package}, expected {expected} ({source})")
NUMA_COUNT = _differs(
    "numa.count", sentence="{found:#NUMA node} with host memory, expected {expected} ({source})", next=_FIRMWARE
)
NUMA_WITHOUT_MEMORY = _differs(
    "numa.without_memory", sentence="NUMA node {numa_node} has no memory", next="check its memory modules"
)
NUMA_MISSING = _differs(
    "numa.missing", sentence="NUMA node {numa_node} is missing", next=f"{_FIRMWARE}, and the processors"
)
NUMA_UNEXPECTED = _differs("numa.unexpected", sentence="unexpected NUMA node {numa_node} ({source})", next=_FIRMWARE)
MEMORY = _differs(
    "memory.size", sentence="{found:.0f} GiB of host memory, expected {expected:.0f} GiB ({source})",
    next="check the memory modules",
)  # fmt: skip
GPU_COUNT = _differs(
    "gpu.count", sentence="{found:#GPU} on this node, expected {expected} ({source})",
    next="check lspci, and the kernel log for Xid messages",
)  # fmt: skip
GPU_SLOT = _differs(
    "gpu.slot", sentence="GPU {gpu} is in another slot: at {found}, expected at {expected} ({source})",
    next="move it back, or correct the node type",
)  # fmt: skip
GPU_NONE_ON_BUS = _differs(
    "gpu.none_on_bus", sentence="none of the {expected} GPUs is on the PCI bus",
    next="check their power, the baseboard, and in a virtual machine the PCI pass-through",
)  # fmt: skip
GPU_MISSING = _differs(
    "gpu.missing", sentence="GPU {gpu}[ ({model})] is missing at {pci}",
    next="check the kernel log for Xid 79, then reseat it",
)  # fmt: skip
GPU_UNEXPECTED = _differs("gpu.unexpected", sentence="unexpected GPU[ ({model})] at {pci} ({source})")
GPU_DRIVER = _differs(
    "gpu.driver", sentence="GPU {gpu} at {pci} does not answer the driver ({fault})",
    next="check the kernel log for Xid messages, then power-cycle the node",
)  # fmt: skip
GPU_MODEL = _differs("gpu.model", sentence="GPU {gpu} at {pci} is a {found}, expected {expected} ({source})")
GPU_SWAPPED = _differs("gpu.swapped", sentence="GPUs were swapped: the one at {pci} was GPU {was} at {was_at}")
GPU_MODE = _differs(
    "gpu.mode", sentence="GPU {gpu} at {pci}: {mode} is {found}, expected {expected} ({source})", next="set it with nvidia-smi"
)  # fmt: skip
GPU_NUMA_NODE = _differs(
    "gpu.numa_node", sentence="GPU {gpu} at {pci} is on NUMA node {found}, expected on NUMA node {expected}", next=_FIRMWARE
)  # fmt: skip
GPU_NUMA_UNKNOWN = _differs(
    "gpu.numa_unknown",
    sentence="GPU {gpu} at {pci} is expected on NUMA node {expected}, but the system reports none",
    next=_FIRMWARE,
)  # fmt: skip
LINK_KIND = _differs(
    "link.kind", sentence="GPU {gpu} at {pci} reaches the host over {found}, expected {expected} ({source})"
)
LINK_GENERATION = _differs(
    "link.generation",
    sentence="GPU {gpu} at {pci}: its {kind} link {when} generation {found}, expected {expected} ({source})", next=_RESEAT,
)  # fmt: skip
LINK_WIDTH = _differs(
    "link.width", sentence="GPU {gpu} at {pci}: its {kind} link {when} x{found}, expected x{expected} ({source})", next=_RESEAT
)  # fmt: skip
NVLINK_GENERATION = _differs(
    "nvlink.generation", sentence="GPU {gpu} at {pci} has NVLink {found}, expected NVLink {expected} ({source})"
)
NVLINK_LANES = _differs(
    "nvlink.lanes", sentence="GPU {gpu} at {pci} has {found:#active NVLink lane}, expected {expected} ({source})",
    next="check nvidia-smi nvlink --status",
)  # fmt: skip
PEER_LINK = _differs(
    "peer.link", sentence="GPUs {gpu} and {peer} are joined by {found}, expected {expected} ({source})",
    next="check nvidia-smi topo -m",
)  # fmt: skip
NIC_COUNT = _differs(
    "nic.count", sentence="{found:#NIC} on this node, expected {expected} ({source})", next="check lspci"
)
NIC_MISSING = _differs(
    "nic.missing", sentence="the NIC {nic} at {pci} is missing", next="check its driver, then reseat it"
)
NIC_NUMA_NODE = _differs(
    "nic.numa_node", sentence="the NIC {nic} at {pci} is on NUMA node {found}, expected {expected} ({source})"
)
