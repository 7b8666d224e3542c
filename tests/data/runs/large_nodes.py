"""Synthetic runs of nodes of eight and sixteen GPUs: invented figures, judged for real. Nothing here was measured.

``python -m tests.data.runs.large_nodes DIRECTORY`` writes every scenario below DIRECTORY, to be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nearfar import cells
from nearfar.topology import node_from_document
from tests.data.runs.many_gpus import document, judged, pairs
from tests.data.runs.synthetic import Run, make_node, topology

#: GB/s of a lone copy, by the NUMA node's place, from and to the host.
_LONE = {"near": (24.6, 25.1), "on_socket": (24.4, 24.9), "off_socket": (19.8, 18.9)}


def eight_gpus(directory: Path, hostname: str = "hgx-0042") -> Path:
    """Eight H100s with NVSwitch in two packages of two NUMA nodes; GPU 5 sends a tenth less than the others."""
    raw = make_node(hostname, packages=2, numa_per_package=2, gpus=[0, 0, 1, 1, 2, 2, 3, 3], gpu_name="NVIDIA H100 80GB HBM3",
                    nvlink="NV18", nics=[0, 1, 2, 3], switches=True, cores=28)  # fmt: skip
    return _run(directory, hostname, raw, {"g5": 0.9}, lone=2.2)


def sixteen(hostname: str = "pcie16-003") -> dict[str, Any]:
    """Sixteen A100s on PCIe: four share an uplink ×16, two of them a switch below it."""
    raw = make_node(
        hostname, packages=2, numa_per_package=2, gpus=[g // 4 for g in range(16)], gen=4, gpu_name="NVIDIA A100-PCIE-40GB", cores=16,
        nics=[0, 2],
    )  # fmt: skip
    for gpu in raw["gpus"]:
        index = gpu["index"]
        root, upper, lower = f"{index // 4 * 0x40:02x}", f"{index // 4 * 0x40 + 1:02x}", f"{index // 2 * 0x20 + 4:02x}"
        bus = index // 2 * 0x20 + 6 + index % 2
        gpu["pci"] = f"0000:{bus:02x}:00.0"
        gpu["uplinks"] = [
            f"0000:{lower}:{index % 2:02x}.0",
            f"0000:{upper}:{index // 2 % 2:02x}.0",
            f"0000:{root}:01.0",
        ]
    for nic in raw["nics"]:
        nic["uplinks"] = [f"0000:{nic['numa_node'] * 0x40 + 1:02x}:02.0", f"0000:{nic['numa_node'] * 0x40:02x}:01.0"]
    return raw


def sixteen_gpus(directory: Path, hostname: str = "pcie16-003", bridge: bool = False) -> Path:
    """``sixteen``; GPU 9 sits in a link of half its width, or (``bridge``) GPUs 8 and 9 below a switch whose uplink has half."""
    raw = sixteen(hostname)
    if bridge:
        return _run(directory, hostname, raw, {"g8": 0.51, "g9": 0.51}, lone=1.0, shared=True)
    return _run(directory, hostname, raw, {"g9": 0.51}, lone=1.0, narrow=9)


def _run(
    directory: Path, hostname: str, raw: dict[str, Any], slow: dict[str, float], lone: float, narrow: int | None = None,
    shared: bool = False,
) -> Path:  # fmt: skip
    """``shared``: what is slow is above each pair of GPUs, who do not need it for each other."""
    node = node_from_document(raw)
    run = Run(directory, "redwood", ["redwood"], hostname=hostname)
    run.node(hostname, raw)
    under_load = topology(raw)
    if narrow is not None:
        under_load.raw["gpus_under_load"][narrow]["link"]["width"] = 8
    run.check(hostname, judged(under_load, "topology_check", node), under_load)

    def copies(cell: cells.Cell) -> Sequence[float]:
        both = 0.93 if len(cell.flows) > 1 else 1.0
        found = []
        for flow in cell.flows:
            place = cells.flow_class(node, flow)
            way = flow.direction == "d2h"
            link = _LONE["near"][way] * slow.get(f"g{flow.gpus[0]}", 1.0)
            found.append(min(_LONE[place][way], link) * lone * both)
        return found

    def peers(cell: cells.Cell) -> Sequence[float]:
        if raw["peers"]:
            return pairs(cell)
        near = [0.5 if flow.gpus[0] // 4 != flow.gpus[1] // 4 else 1.0 for flow in cell.flows]
        crossing = [flow for flow in cell.flows if not shared or flow.gpus[0] // 2 != flow.gpus[1] // 2]
        worst = min((slow.get(f"g{g}", 1.0) for flow in crossing for g in flow.gpus), default=1.0)
        return [24.8 * min(each, worst) for each in near]

    def many(cell: cells.Cell) -> Sequence[float]:
        load = cells.load_of(node, cell)
        assert load is not None
        if len(load.gpus) == 1:
            return copies(cell)
        total = min(24.6 * lone * len(load.gpus), 24.6 * lone * 4) * (1.6 if load.ways == "both" else 1.0)
        return [total / len(cell.flows)] * len(cell.flows)

    for check, asked, rates in (
        ("host_device_check", cells.host_device_matrix(node)[0], copies),
        ("peer_check", [*cells.peer_matrix(node)[0], *cells.exchanges(node)[0]], peers),
        ("saturation_check", cells.saturation_ramps(node)[0], many),
    ):
        made = document(raw, asked, rates)
        run.check(hostname, judged(made, check, node), made)
    return run.finish()


SCENARIOS: dict[str, Callable[[Path], Path]] = {"eight_gpus": eight_gpus, "sixteen_gpus": sixteen_gpus}

if __name__ == "__main__":
    for scenario, write in SCENARIOS.items():
        print(write(Path(sys.argv[1]) / scenario))
