"""Runs of nodes of 0, 1, 8 and 16 GPUs, healthy and with a fault of each kind: predicted rates as if they were measured, judged for real.

``python -m tests.data.runs.faulty_nodes DIRECTORY`` writes every one below DIRECTORY, to be looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

from nearfar import measurement, question, verdict
from nearfar.cells import Cell, parse
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import Capacity, NodeType, implied_capacities, modelled_document
from nearfar.topology import Node, node_from_document
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import Reference
from tests.data.runs.large_nodes import sixteen
from tests.data.runs.many_gpus import judged
from tests.data.runs.modelled import cells_of
from tests.data.runs.synthetic import STARTED, Run, make_node, topology

GPUS = (0, 1, 8, 16)
#: What is degraded, by the part that a page has to name.
FAULTS = {
    "healthy": {},
    "switch:0000:81:00.0": dict.fromkeys([f"switch:0000:81:00.0.{way}" for way in ("up", "down", "both")], 0.5),
    "g0.link": dict.fromkeys([f"g0.{way}" for way in ("h2d", "d2h", "both")], 0.5),
    "p0-p1.link": {"p0-p1": 0.5, "p1-p0": 0.5},
    "n0.memory": {"n0.memory": 0.25},
}
#: GB/s of capacities, by the end of their names.
_VALUES = {
    "h2d": 24.6, "d2h": 25.1, "both": 44.0, "memory": 150.0, "down": 24.6, "up": 25.1, "out": 240.0, "in": 240.0, "p0-p1": 60.0,
    "p1-p0": 60.0,
}  # fmt: skip


def has(gpus: int, fault: str) -> bool:
    """Whether a node of so many GPUs has what breaks: only that of sixteen has bridges, none has the link of a GPU that is not there."""
    return gpus >= (16 if fault.startswith("switch") else 1 if fault.startswith("g") else 0)


def _node(gpus: int) -> dict[str, Any]:
    if gpus == 16:
        return sixteen()
    where = [gpu * 4 // gpus if gpus > 1 else 0 for gpu in range(gpus)]
    return make_node(f"pcie{gpus}-003", packages=2, numa_per_package=2, gpus=where, gen=4, gpu_name="NVIDIA A100-SXM4-40GB",
                     cores=16, nvlink="NV12" if gpus > 1 else None)  # fmt: skip


def _node_type(node: Node) -> NodeType:
    implied = implied_capacities(node)
    known = {name: _VALUES[name.rpartition(".")[2]] for name in implied}
    capacities = {name: replace(implied[name], value=value, source="a test") for name, value in known.items()}
    kernels = dict.fromkeys(("copy", "scale", "add", "triad"), 150.0)
    hosts = [numa.index for numa in node.host_numa_nodes]
    caps = {}
    if not node.peers:
        for a, b in permutations([gpu.index for gpu in node.gpus], 2):
            for cell in (f"g{a}:g{b}", f"g{a}:g{b}@g{b}", f"g{a}:g{b}+g{b}:g{a}"):
                caps[parse(cell)] = Capacity(cell, 22.0 if "+" not in cell else 38.0, source="a test")
    return NodeType("redwood", node, capacities, caps, {(a, a): kernels for a in hosts})


def _measured(
    node_type: NodeType, raw: dict[str, Any], asked: Sequence[Cell], fault: Mapping[str, float]
) -> measurement.Document:
    made = {**modelled_document(node_type, asked, fault, 0.003, 1), "kind": "measured", "node": raw, "started": STARTED}
    del made["node_type"]
    for result in made["results"]:
        del result["basis"], result["limited_by"]
    return from_raw(made)


def write(directory: Path, gpus: int = 16, fault: str = "healthy") -> Path:
    """The run of such a node."""
    raw = _node(gpus)
    node, hostname = node_from_document(raw), raw["hostname"]
    node_type = _node_type(node)
    run = Run(directory, "redwood", ["redwood"], hostname=hostname)
    run.node(hostname, raw)
    under_load = topology(raw)
    run.check(hostname, judged(under_load, "topology_check", node), under_load)
    for check, every in cells_of(node).items():
        asked = [cell for cell in every if cell.flows]
        if not asked:
            continue
        of = question.find(check).figures
        healthy, document = (_measured(node_type, raw, asked, each) for each in ({}, FAULTS[fault]))
        known = [(each.name, each.value, each.unit) for each in of(healthy, node)]
        found = {name: Reference(value, -0.05, None, unit, "tuned", "healthy runs") for name, value, unit in known}
        metrics = of(document, node)
        subject = CaseInfo(check, "redwood", "default", "system", hostname, STARTED)
        judged_ = verdict.judge(document, found, subject=subject, metrics=metrics, asked=asked)
        run.check(hostname, judged_, document)  # type: ignore[arg-type]
    return run.finish()


SCENARIOS = {
    f"{gpus}-{fault}".replace(":", "_"): partial(write, gpus=gpus, fault=fault)
    for gpus in GPUS
    for fault in FAULTS
    if has(gpus, fault)
}

if __name__ == "__main__":
    for scenario, make in SCENARIOS.items():
        print(make(Path(sys.argv[1]) / scenario))
