"""Synthetic runs of the checks of many GPUs: invented figures, judged for real. Nothing here was measured.

``python -m tests.data.runs.many_gpus DIRECTORY`` writes every scenario below DIRECTORY, to be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nearfar import measurement, verdict
from nearfar.cells import (
    Cell,
    exchange_of,
    exchanges,
    flow_class,
    latency_cells,
    load_of,
    peer_matrix,
    saturation_ramps,
    sharing_ramps,
    size_sweep,
)
from nearfar.measurement.document import from_raw
from nearfar.topology import Node, node_from_document
from nearfar.verdict import references
from tests.data.runs.synthetic import STARTED, Document, Run, make_node

Rates = Callable[[Cell], "Sequence[float] | None"]


def document(node: dict[str, Any], cells: Sequence[Cell], rates: Rates, tasks: Callable[[Cell], list[float]] | None = None,
             alone: float | None = None) -> Document:  # fmt: skip
    """A measured document; ``rates`` gives each flow's rate (None: the cell is skipped), ``tasks`` those of a flow's tasks."""
    made = Document(node, "nearfar-copy", seed=5)
    # Last what came last, so that the noise of all others is as it was.
    for cell in sorted(cells, key=lambda cell: cell.flows[0].staged and not cell.lone):
        given = rates(cell)
        if given is None:
            made.raw["skipped"].append({"cell": str(cell), "reason": "peer access is refused", "code": "unsupported"})
            continue
        flows = []
        for flow, value in zip(cell.flows, given):
            entry = {"flow": str(flow), "rate": made.rate(value), "cpus": "0-15", "memory_nodes": []}
            entry["ceiling"] = 400.0 if flow.kind == "peer" and not flow.staged else None
            if alone and not cell.lone and not flow.staged:
                entry["solo"] = made.rate(alone)
            if tasks and flow.tasks > 1:
                each = sorted(tasks(cell))
                entry["tasks"] = {"unit": "GB/s", "median": each[len(each) // 2], "min": each[0], "max": each[-1],
                                  "n": len(each), "samples": each}  # fmt: skip
            flows.append(entry)
        result = {"quantity": "copy", "cell": str(cell), "bytes": 1 << 29, "converged": True, "verified": True,
                  "flows": flows, "seconds": 0.1, "method": "latched" if cell.lone else "windowed"}  # fmt: skip
        if not cell.lone:
            result["total"] = made.rate(sum(given))
        made.raw["results"].append(result)
    return made


def judged(made: Document, check: str, node: Node, **more: Any) -> verdict.Verdict:
    """The verdict that the judge gives."""
    read = from_raw(made.raw)
    ramp = check in ("saturation_check", "sharing_check")
    metrics = [m for m in measurement.metrics(read, node) if not ramp or m.flow is None or m.quantity != "copy"]
    found = references.resolve(metrics, check, [], node)
    subject = verdict.CaseInfo(check, "local", "default", "system", node.hostname, STARTED)
    return verdict.judge(read, found, subject=subject, metrics=metrics, **more)


def pairs(cell: Cell) -> Sequence[float]:
    """NVLink 4 through a switch: one read is slow, one write broken."""
    known = {"g2:g3@g3": [352.0], "g1:g2": [195.0], "g0:g3+g3:g0": [391.0, 340.0]}
    if str(cell) in known:
        return known[str(cell)]
    exchange = exchange_of(cell)
    if exchange is not None and exchange.hub is not None:
        # GPU 2 sends too little, and to one of the others least.
        lanes = 310.0 if str(cell).startswith("g2:g0@g0") else 397.0
        parts = [1.0, 1.02, 0.97, 1.0, 1.0, 1.0, 1.0][: len(cell.flows)]
        return [lanes * part / sum(parts) for part in parts]
    if cell.flows[0].staged:
        return [38.0 + 0.3 * cell.flows[0].gpus[0]] * len(cell.flows)
    return [391.5] * len(cell.flows) if not cell.lone else [390.4 if cell.flows[0].driver else 394.8]


def at_once(node: Node, most: dict[str, list[float]]) -> Rates:
    """A host side that saturates: totals by the number of GPUs, shared a little unevenly."""

    def rates(cell: Cell) -> Sequence[float]:
        load = load_of(node, cell)
        assert load is not None
        total = most[load.ways][len(load.gpus) - 1] * (0.8 if load.ramp == "across" else 1)
        parts = [1 + 0.06 * (i % 3) for i in range(len(cell.flows))]
        return [total * part / sum(parts) for part in parts]

    return rates


def virtual_machine(directory: Path, hostname: str = "h200-vm") -> Path:
    """Four H200s behind one NUMA node: a slow and a broken pair, a host side that saturates, a task with little."""
    raw = make_node(hostname, gpus=[0] * 4, nvlink="NV18", cores=64)
    node = node_from_document(raw)
    run = Run(directory, "local", ["local"], hostname=hostname)
    run.node(hostname, raw)
    made = document(raw, [*peer_matrix(node)[0], *exchanges(node)[0]], pairs, alone=394.8)
    run.check(hostname, judged(made, "peer_check", node), made)
    most = {
        "h2d": [55.5, 110.2, 152.0, 197.0],
        "d2h": [55.4, 108.0, 140.0, 157.0],
        "both": [102.0, 160.0, 180.0, 187.0],
    }
    made = document(raw, saturation_ramps(node)[0], at_once(node, most), alone=55.5)
    run.check(hostname, judged(made, "saturation_check", node), made)

    def tasks(cell: Cell) -> list[float]:
        flow = cell.flows[0]
        fair = (49.0 if flow.direction == "h2d" else 39.0) / flow.tasks
        return [fair * 1.02] * (flow.tasks - 1) + [
            fair * (0.05 if flow.tasks == 4 and flow.direction == "h2d" else 0.97)
        ]

    made = document(raw, sharing_ramps(node)[0], lambda c: [49.0 if c.flows[0].direction == "h2d" else 39.0] * 4, tasks)
    run.check(hostname, judged(made, "sharing_check", node), made)
    return run.finish()


def two_packages(directory: Path, hostname: str = "hgx-0007") -> Path:
    """Eight GPUs in two packages; a PCIe pair class across them, peer access refused there."""
    raw = make_node(hostname, packages=2, gpus=[0] * 4 + [1] * 4, cores=48)
    raw["peers"] = [
        {"gpus": [a, b], "link": "NV18"} for p in (0, 4) for a in range(p, p + 4) for b in range(a + 1, p + 4)
    ]
    for gpu in raw["gpus"]:
        gpu.update(nvlink_generation=4, nvlinks=18)
    node = node_from_document(raw)
    run = Run(directory, "redwood", ["redwood"], hostname=hostname)
    run.node(hostname, raw)

    def rates(cell: Cell) -> Sequence[float] | None:
        reached = all(flow.staged or flow.gpus[0] // 4 == flow.gpus[1] // 4 for flow in cell.flows)
        return pairs(cell) if reached else None

    asked, left_out = peer_matrix(node)
    made = document(raw, [*asked, *exchanges(node)[0]], rates)
    run.check(hostname, judged(made, "peer_check", node, left_out=left_out), made)
    most = {
        "h2d": [55.5 * n * (1 - 0.02 * n) for n in range(1, 9)], "d2h": [55.0 * n * (1 - 0.04 * n) for n in range(1, 9)],
        "both": [100 * n * (1 - 0.06 * n) for n in range(1, 9)],
    }  # fmt: skip
    made = document(raw, saturation_ramps(node)[0], at_once(node, most), alone=55.5)
    run.check(hostname, judged(made, "saturation_check", node), made)
    return run.finish()


def small_and_large(directory: Path, hostname: str = "h200-03") -> Path:
    """Latencies and bandwidth over size of four H200s and two memories."""
    raw = make_node(hostname, packages=2, gpus=[0, 0, 1, 1], nvlink="NV18", cores=32)
    node = node_from_document(raw)
    run = Run(directory, "local", ["local"], hostname=hostname)
    run.node(hostname, raw)
    made = Document(raw, "nearfar-copy", seed=9)
    for cell in latency_cells(node)[0]:
        far = 0.25 if flow_class(node, cell.flows[0]) == "off_socket" else 0.0
        times = (2.1, 0.83, 3.4) if cell.flows[0].kind == "peer" else (1.9 + far, 1.16 + far, 3.3)
        for what, bytes_, time in zip(("copy", "chase", "launch"), (8, 4, 1), times):
            flow = {"flow": str(cell), "rate": {**made.rate(time), "unit": "us"}, "ceiling": None}
            made.raw["results"].append({"quantity": f"latency.{what}", "cell": str(cell), "bytes": bytes_, "flows": [flow],
                                        "converged": True, "verified": True, "method": f"latency.{what}"})  # fmt: skip
    run.check(hostname, judged(made, "latency_check", node), made)
    made = Document(raw, "nearfar-copy", seed=9)
    made.raw["curves"] = []
    for cell in size_sweep(node)[0]:
        most = (
            395.0 if cell.flows[0].kind == "peer" else 44.0 if flow_class(node, cell.flows[0]) == "off_socket" else 55.5
        )
        half = most * 1e9 * 3e-6
        for power in range(10, 31):
            flow = {"flow": str(cell), "rate": made.rate(most / (1 + half / 2**power)), "ceiling": 58.4}
            made.raw["results"].append({"quantity": "copy", "cell": str(cell), "bytes": 2**power, "flows": [flow],
                                        "converged": True, "verified": True, "method": "latched"})  # fmt: skip
        made.raw["curves"].append({"cell": str(cell), "half_bandwidth_bytes": half})
    run.check(hostname, judged(made, "size_sweep_check", node), made)
    return run.finish()


def nothing_measured(directory: Path, hostname: str = "h200-old") -> Path:
    """A program that knows no pairs: every cell skipped, and the check says that it measured nothing."""
    raw = make_node(hostname, gpus=[0] * 2, nvlink="NV18")
    node = node_from_document(raw)
    run = Run(directory, "local", ["local"], hostname=hostname)
    run.node(hostname, raw)
    asked = peer_matrix(node)[0]
    made = document(raw, asked, lambda _: None)
    run.check(hostname, judged(made, "peer_check", node, asked=asked), made)
    return run.finish()


SCENARIOS: dict[str, Callable[[Path], Path]] = {
    "virtual_machine": virtual_machine,
    "two_packages": two_packages,
    "small_and_large": small_and_large,
    "nothing_measured": nothing_measured,
}

if __name__ == "__main__":
    for scenario, write in SCENARIOS.items():
        print(write(Path(sys.argv[1]) / scenario))
