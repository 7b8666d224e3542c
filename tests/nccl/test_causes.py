"""Why a collective is slow: what logs, nodes and variables show, the likeliest first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nearfar.model.prediction import load_node_type
from nearfar.nccl import NcclEvidence, read_log
from nearfar.topology import Gpu, Link, Nic, Node
from tests.conftest import CHECKOUT

DATA = CHECKOUT / "tests" / "data" / "nccl"
NVLINK = load_node_type("h200-x4-vm", [CHECKOUT / "site"]).node
NVLINK = replace(NVLINK, settings={}, virtual_machine=None)
SHM = "[0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
RDMA = "[0] NCCL INFO Channel 00/0 : 3[3] -> 4[0] [send] via NET/IB/0{}\n"


def pcie(**settings: str) -> Node:
    """Two GPUs below one switch, and a NIC."""
    gpus = tuple(Gpu(i, f"0000:0{i}:00.0", name="NVIDIA L40S", numa_node=0, uplinks=("0000:00:01.0",)) for i in (1, 2))
    gpus = tuple(
        replace(gpu, index=i, settings={k: v for k, v in settings.items() if k == "acs"}) for i, gpu in enumerate(gpus)
    )
    nic = Nic("mlx5_0", "0000:03:00.0", numa_node=0, uplinks=("0000:00:01.0",))
    own = {key: value for key, value in settings.items() if key != "acs"}
    return Node("n", (), (), gpus, nics=(nic,), settings=own, virtual_machine="hypervisor" in own)


@pytest.mark.parametrize(
    "node, log, facts, options, codes",
    [
        (pcie(acs="on", iommu="off"), SHM, {}, {}, ["p2p_off_shm", "acs_on"]),
        (pcie(acs="off", iommu="on (DMA-FQ)"), SHM, {}, {}, ["p2p_off_shm", "iommu_on"]),
        (pcie(iommu="off", acs="off", hypervisor="QEMU"), SHM, {}, {}, ["p2p_off_shm", "vm_hides_pci"]),
        (pcie(), SHM, {}, {}, ["p2p_off_shm", "acs_on", "iommu_on", "vm_hides_pci"]),
        (pcie(), "x NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n", {}, {}, ["p2p_off_shm", "env"]),
        (NVLINK, SHM, {"variables": {"NCCL_P2P_DISABLE": "1"}}, {}, ["p2p_off_shm", "env"]),
        (replace(NVLINK, virtual_machine=True), SHM, {"variables": {"NCCL_P2P_DISABLE": "1"}}, {}, ["p2p_off_shm", "env"]),
        (NVLINK, SHM.replace("SHM/direct/direct", "NET/Socket/0"), {"variables": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}}, {},
         ["network_within_node", "env"]),
        (NVLINK, SHM + "NCCL WARN Call to posix_fallocate failed", {"shm_bytes": 1}, {}, ["p2p_off_shm", "container_limits"]),
        (NVLINK, "", {"fabric_manager": False}, {"like": "pcie"}, ["pcie_instead_of_nvlink", "fabric_manager"]),
        (NVLINK, "Test CUDA failure common.cu:941 'system not yet initialized'", {}, {}, ["fabric_manager"]),
        (NVLINK, (DATA / "2.18.3.txt").read_text(), {}, {"nodes": 2}, ["p2p_off_shm", "socket_instead_of_ib", "container_limits"]),
        (NVLINK, RDMA.format("") + "x NCCL_NET_GDR_LEVEL set by environment to LOC", {}, {"nodes": 2}, ["no_gdr", "env"]),
        (replace(NVLINK, settings={"peermem": "not loaded"}), RDMA.format(""), {}, {"nodes": 2}, ["no_gdr", "no_peermem"]),
        (NVLINK, "x NCCL INFO 2 coll channels, 0 nvls channels, 2 p2p channels", {}, {"multicast": True}, ["nvls_off", "few_channels"]),
        (NVLINK, RDMA.format("/GDRDMA"), {}, {"nodes": 2, "slow": False}, []),
    ],
)  # fmt: skip
def test_the_likeliest_first(
    node: Node, log: str, facts: dict[str, object], options: dict[str, Any], codes: list[str]
) -> None:
    found = NcclEvidence(node, read_log(log), facts, **options).causes()
    assert [finding.code.removeprefix("nccl.") for finding in found][: len(codes) or None] == codes
    assert all(finding.verdict == "not judged" and ": " in finding.reason for finding in found)


def test_each_says_what_it_saw() -> None:
    far = replace(
        NVLINK, gpus=tuple(replace(gpu, link=Link("pcie", 5, 8, 5, 16)) for gpu in NVLINK.gpus[:1]) + NVLINK.gpus[1:]
    )
    (narrow,) = [each for each in NcclEvidence(far, read_log("")).causes() if each.code == "nccl.narrow_link"]
    assert narrow.reason.startswith("a link has fewer lanes than it can have: GPU 0 has x8 of x16: reseat the board")
    perhaps = NcclEvidence(pcie(), read_log(SHM)).causes()[1]
    assert perhaps.reason.startswith("possible: ACS routes traffic between PCIe peers")
