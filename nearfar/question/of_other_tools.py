"""The check that would have measured what another tool measured."""

from __future__ import annotations

from nearfar.cells import Cell

HOST_DEVICE, SATURATION, PEER, GPU_MEMORY, LATENCY, MPI_OSU, NCCL = (
    "host_device_check", "saturation_check", "peer_check", "gpu_memory_check", "latency_check", "osu_check", "nccl_check",
)  # fmt: skip
#: Shows what is of no other.
NODE = "topology_check"


def check_of(cell: Cell) -> str:
    """The check that has the rate of such a cell."""
    kinds = {flow.kind for flow in cell.flows}
    if kinds == {"host"}:
        return HOST_DEVICE if len(cell.gpus) == 1 else SATURATION
    return GPU_MEMORY if kinds == {"local"} else PEER


def check_of_subject(quantity: str) -> str:
    """The check that has such a quantity of what is no cell; empty: none judges it of other tools."""
    return NCCL if quantity.startswith("nccl.") else ""
