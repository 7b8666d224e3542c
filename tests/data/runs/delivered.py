"""Runs of delivered nodes that nobody has: two packages, eight H100s with NVSwitch; invented figures, judged for real, and faults.

``python -m tests.data.runs.delivered DIRECTORY NODE [FAULT…]`` writes one run, to be looked at.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearfar import cells, measurement, verdict
from nearfar.measurement.document import from_raw
from nearfar.topology import node_from_document
from nearfar.verdict import references
from tests.data.runs.many_gpus import document
from tests.data.runs.synthetic import Run, make_node, topology

#: ``link``: GPU 2 runs at half its width. ``lane``: GPU 5 has lost one of 18 NVLinks. ``channel``: package 1 has lost one of 8 memory
#: channels. ``bios``: another BIOS. ``slow``: all copies over PCIe 30 % slow.
FAULTS = ("link", "lane", "channel", "bios", "slow")
#: GB/s of a lone copy, by class and direction.
_LONE = {"near": {"h2d": 55.4, "d2h": 55.2}, "off_socket": {"h2d": 54.9, "d2h": 43.0}}
_TRIAD = {"local": 240.0, "off_socket": 110.0}


def raw_node(hostname: str, faults: Sequence[str] = ()) -> dict[str, Any]:
    """The node's description."""
    raw = make_node(
        hostname, packages=2, gpus=[0, 0, 0, 0, 1, 1, 1, 1], gpu_name="NVIDIA H100 80GB HBM3", nvlink="NV18", cores=32
    )
    number = zlib.crc32(hostname.encode())
    for gpu in raw["gpus"]:
        gpu["uuid"] = f"GPU-{number:08x}-0000-4000-8000-{gpu['index']:012}"
        gpu["serial"] = f"165{number % 10**8:08}{gpu['index']:02}"
    raw["software"]["bios"] = "1.2" if "bios" in faults else "1.4"
    if "lane" in faults:
        raw["gpus"][5]["nvlinks"] = 17
    return raw


def write(
    directory: Path, hostname: str, started: str, faults: Sequence[str] = (), system: str = "local", seed: int = 0
) -> Path:
    """One run of five checks."""
    raw = raw_node(hostname, faults)
    node = node_from_document(raw)
    chance = random.Random(f"{hostname} {seed}")
    run = Run(directory, system, [system], hostname=hostname)
    run.raw["started"] = started
    run.node(hostname, raw)

    def noisy(value: float) -> float:
        return value * (1 + chance.gauss(0, 0.0015))

    def copies(cell: cells.Cell) -> list[float]:
        rates = []
        for flow in cell.flows:
            rate = _LONE[cells.flow_class(node, flow)][flow.direction] * (0.7 if "slow" in faults else 1.0)
            if "link" in faults and flow.gpus[0] == 2:
                rate = min(rate, 27.6)
            rates.append(noisy(rate * (0.95 if len(cell.flows) > 1 else 1.0)))
        return rates

    def peers(cell: cells.Cell) -> list[float]:
        ends = [[sum(gpu in flow.gpus[side : side + 1] for flow in cell.flows) for side in (0, 1)] for gpu in range(8)]
        rates = []
        for flow in cell.flows:
            shares = [
                (17 / 18 if "lane" in faults and gpu == 5 else 1.0) / ends[gpu][side]
                for side, gpu in enumerate(flow.gpus)
            ]
            rates.append(noisy((38.0 if flow.staged else 394.0) * min(shares)))
        return rates

    def memory(cell: cells.Cell) -> list[float]:
        rates = []
        for flow in cell.flows:
            place = cells.flow_class(node, flow)
            lost = 7 / 8 if "channel" in faults and flow.destination.index == 1 and place == "local" else 1.0
            rates.append(noisy(_TRIAD[place] * lost))
        return rates

    under_load = topology(raw)
    if "link" in faults:
        under_load.raw["gpus_under_load"][2]["link"]["width"] = 8
    streams = document(raw, cells.stream_matrix(node), memory)
    for result in streams.raw["results"]:
        result["quantity"] = "stream"
    asked = {
        "topology_check": under_load,
        "host_device_check": document(raw, cells.host_device_matrix(node)[0], copies),
        "peer_check": document(raw, [*cells.peer_matrix(node)[0], *cells.exchanges(node)[0]], peers),
        "host_memory_check": streams,
    }
    for check, made in asked.items():
        made.raw["started"] = started
        read = from_raw(made.raw)
        metrics = measurement.metrics(read, node)
        found = references.resolve(metrics, check, [], node, stamp=raw["software"])
        about = verdict.CaseInfo(check, system, "default", "system", hostname, started)
        run.check(hostname, verdict.judge(read, found, subject=about, metrics=metrics), made)
    return run.finish()


if __name__ == "__main__":
    print(json.dumps(str(write(Path(sys.argv[1]), sys.argv[2], "2026-11-20T02:00:00Z", sys.argv[3:]))))
