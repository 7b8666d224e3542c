"""What findings about NCCL say: how it sent, and why that is slower than the node allows (``how``: how sure that is)."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_PAGE = "use.md"


def _cause(code: str, sentence: str, step: str) -> Message:
    return Message(f"nccl.{code}", NOT_JUDGED, f"[{{how}}: ]{sentence}", step, page=_PAGE)


USED = Message(
    "nccl.used", NOT_JUDGED, "NCCL[ {version}][ sent over {transport}][, {channels:#channel}][; {choices}]", page=_PAGE
)
MULTICAST_OFF = Message(
    "nccl.multicast_off", NOT_JUDGED,
    "NVLink's multicast was off (NCCL_NVLS_ENABLE=0, set for this check alone): the figures are without NVLS",
    "to measure with it, if nobody shares the node: -S nccl_check.nvls=1", page=_PAGE,
)  # fmt: skip
VERSIONS = Message(
    "nccl.versions", NOT_JUDGED, "nccl-tests were compiled with NCCL {headers} and ran with {library}",
    "set LD_LIBRARY_PATH to the NCCL you want to measure", page=_PAGE,
)  # fmt: skip
OLDER_LIBRARY = Message(
    "nccl.older_library", "INDETERMINATE", "nccl-tests were compiled with NCCL {headers} and ran with the older {library}",
    "set LD_LIBRARY_PATH to the NCCL that they were compiled with", page=_PAGE,
)  # fmt: skip
OTHER_VERSIONS = Message(
    "nccl.other_versions", "INDETERMINATE", "the ranks used different versions of NCCL[: {versions}]",
    "set the same LD_LIBRARY_PATH on all nodes", page=_PAGE,
)  # fmt: skip

#: By the words of ``collective.CAUSES``.
CAUSES = {
    code: _cause(code, sentence, step)
    for code, sentence, step in (
        ("p2p_off_shm", "GPUs send to each other through host memory (SHM), not directly[: {shown}]",
         "check whether the driver allows it: nvidia-smi topo -p2p r"),
        ("network_within_node", "GPUs of one node send to each other over the network, not through host memory or directly[: {shown}]",
         "run without NCCL_P2P_DISABLE and NCCL_SHM_DISABLE"),
        ("pcie_instead_of_nvlink", "no faster than over PCIe, though NVLink joins the GPUs[: {shown}]", "check nvidia-smi nvlink --status"),
        ("socket_instead_of_ib", "data between the nodes goes over TCP sockets, not InfiniBand or RoCE[: {shown}]",
         "check ibv_devinfo within the job, and NCCL_IB_HCA"),
        ("no_gdr", "the NICs do not reach the GPUs' memory (no GPUDirect RDMA)[: {shown}]", "check nvidia-smi topo -m and the next cause"),
        ("nvls_off", "NVLink's multicast (NVLS) was not used[: {shown}]", "check nvidia-smi -q for the GPUs' fabric state"),
        ("acs_on", "ACS routes traffic between PCIe peers through the processor[: {shown}]",
         "turn ACS off in the firmware or at the switches, unless virtual machines need it"),
        ("iommu_on", "the IOMMU translates traffic between PCIe devices[: {shown}]", "boot with iommu=pt, or turn it off in the firmware"),
        ("vm_hides_pci", "a virtual machine hides which GPUs and NICs share a PCIe switch[: {shown}]",
         "give NCCL the host's topology (NCCL_TOPO_FILE)"),
        ("no_peermem", "the module nvidia-peermem is not in use[: {shown}]", "modprobe nvidia-peermem, or use a driver with DMA-BUF"),
        ("fabric_manager", "fabric manager has not set up the NVSwitches[: {shown}]",
         "restart nvidia-fabricmanager with no job on the GPUs, then reset them"),
        ("container_limits", "the container or the job limits what NCCL needs[: {shown}]",
         "start it with --shm-size=1g or --ipc=host, --ulimit memlock=-1 and --device /dev/infiniband"),
        ("nic_far", "GPUs use a NIC that is not near them[: {shown}]", "check nvidia-smi topo -m, and NCCL_IB_HCA"),
        ("env", "environment variables change how NCCL sends[: {shown}]", "run once without them"),
        ("few_channels", "NCCL uses only {channels:#channel}[: {shown}]", "check its graph search: NCCL_DEBUG_SUBSYS=GRAPH"),
        ("narrow_link", "a link has fewer lanes than it can have[: {shown}]", "reseat the board, and check nvidia-smi -q -d PCIE"),
    )
}  # fmt: skip
#: The codes of their findings.
CAUSE_CODES = frozenset(cause.code for cause in CAUSES.values())
