"""A small run with one of each kind of figure, failure and skip, judged for real. Nothing here was measured.

``python -m tests.data.runs.small DIRECTORY`` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from nearfar import measurement, verdict
from nearfar.base import Finding
from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.cells import Skip, parse
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import load_node_type, modelled_document
from nearfar.mpi import osu
from nearfar.topology import Node, node_from_document
from nearfar.verdict import Baseline, CaseInfo, references
from nearfar.verdict.references import Reference
from tests.data.runs.synthetic import STARTED, Document, Run, make_node

DATA = Path(__file__).parents[1]
SYSTEM, HOST = "redwood", "n1"
_RATES = {"n0:g0": 55.6, "g0:n0": 55.4, "n1:g0": 41.0, "g0:n1": 24.0}


def write(directory: Path) -> Path:
    """The run: a measured node with two packages and GPUs, and Keeneland's modelled."""
    node = make_node(HOST, packages=2, gpus=[0, 1], cores=8)
    run = Run(directory, SYSTEM, [SYSTEM], ["keeneland"], hostname=HOST)
    run.node(HOST, node)
    for check, document in (
        ("latency_check", _latencies(node)),
        ("sharing_check", _shared(node)),
        ("size_sweep_check", _sizes(node)),
        ("osu_check", _mpi(node)),
    ):
        _keep(run, HOST, check, document)
    _keep(
        run, HOST, "host_device_check", _copies(node), asked=[parse("n0:g1"), parse("g1:n0")],
        left_out=[Skip(parse("n0:g0+n0:g1"), "one GPU stands for all", "representative"), Skip(parse("n1:g1/x4"), "no room", "no_memory")],
        past={"near.n0_g0": Baseline((55.5, 55.6, 55.7, 55.6, 55.5), "2026-11-01"), "near.g0_n0": Baseline((61.0,) * 6, "2026-11-01")},
        findings=[Finding("nodes", "not judged", "nothing is known of its siblings")],
    )  # fmt: skip
    keeneland = load_node_type("keeneland", [CHECKOUT / "site"])
    cells = [parse(text) for text in ("n0:g0", "g0:n0", "n1:g0", "n0:g0+g0:n0", "g0:g1")]
    predicted = Document(node, "nearfar predict", modelled=True)
    predicted.raw = {**modelled_document(keeneland, cells, {}, 0.0, 1), "started": STARTED}
    _keep(run, "keeneland-modelled", "host_device_check", predicted, kind="modelled", expected=keeneland.node)
    return run.finish()


def _keep(
    run: Run, folder: str, check: str, made: Document, kind: str = "measured", expected: Node | None = None, **more: Any
) -> None:
    document = from_raw(made.raw)
    node = expected or node_from_document(made.raw["node"])
    figures = [*measurement.metrics(document, node), *osu.mpi_figures.figures(document)]
    found = references.resolve(figures, check, [], node, kind=kind)
    for metric in figures:
        if metric.name == "near.n0_g0__g0_n0.total":
            found[metric.name] = Reference(
                100.0, -0.05, 0.2, "GB/s", "tuned", "3 nodes", stale=True, file="site/references/r.yaml"
            )
    host = "keeneland" if kind == "modelled" else HOST
    subject = CaseInfo(check, SYSTEM, "gpu", "system", host, STARTED)
    judged = verdict.judge(document, found, subject=subject, metrics=figures, kind=kind, **more)
    run.check(folder, judged, made)


def _copies(node: dict[str, Any]) -> Document:
    made = Document(node, "nearfar-copy", seed=3)
    for flow, rate in _RATES.items():
        made.add({flow: rate}, 58.5, limited_by=("g0.h2d",))
    made.add({"n0:g0": 52.0, "g0:n0": 51.0}, 58.5)
    made.add({"n1:g0": 38.0, "g0:n1": 30.0}, 58.5)
    made.raw["results"][3].update(converged=False)
    made.raw["results"][2].update(beside=["n0:g1"], remeasured=True)
    made.raw["failed"] = [{"cell": "n1:g1", "reason": "wrong data at byte 4096", "code": "wrong_data"}]
    made.raw["skipped"] = [{"cell": "g1:n1", "reason": "NUMA node 1 has no memory free", "code": "no_memory"}]
    made.raw["gpus_under_load"] = [{"index": 1, "link": {"gen": 5, "width": 16}, "throttle": ["sw_power_cap"], "replays": 0},
                                   {"index": 0, "link": {"gen": 5, "width": 16}, "throttle": ["hw_thermal"], "replays": 2}]  # fmt: skip
    return made


def _latencies(node: dict[str, Any]) -> Document:
    made = Document(node, "nearfar-copy", seed=9)
    for what, size, time in (("copy", 8, 2.1), ("chase", 4, 1.2), ("launch", 1, 3.3)):
        flow = {"flow": "n0:g0", "rate": {**made.rate(time), "unit": "us"}, "ceiling": None}
        made.raw["results"].append({"quantity": f"latency.{what}", "cell": "n0:g0", "bytes": size, "flows": [flow],
                                    "converged": True, "verified": True, "method": f"latency.{what}"})  # fmt: skip
    return made


def _shared(node: dict[str, Any]) -> Document:
    made = Document(node, "nearfar-copy", seed=5)
    made.add({"n0:g0": 55.6}, 58.5)
    flow = {"flow": "n0:g0/x2", "rate": made.rate(50.0), "ceiling": 58.5}
    flow["tasks"] = {"unit": "GB/s", "median": 25.0, "min": 20.0, "max": 30.0, "n": 2, "samples": [20.0, 30.0]}
    made.raw["results"].append({"quantity": "copy", "cell": "n0:g0/x2", "bytes": 1 << 28, "converged": True, "verified": True,
                                "flows": [flow], "method": "windowed"})  # fmt: skip
    return made


def _sizes(node: dict[str, Any]) -> Document:
    made = Document(node, "nearfar-copy", seed=7)
    for size in (1 << 20, 1 << 24, 1 << 28):
        flow = {"flow": "n0:g0", "rate": made.rate(55.6 / (1 + 1e5 / size)), "ceiling": 58.5}
        made.raw["results"].append({"quantity": "copy", "cell": "n0:g0", "bytes": size, "converged": True, "verified": True,
                                    "flows": [flow], "method": "latched"})  # fmt: skip
    made.raw["curves"] = [{"cell": "n0:g0", "half_bandwidth_bytes": 1e5}]
    return made


def _mpi(node: dict[str, Any]) -> Document:
    """Two placements of one benchmark, at two sizes; the ranks of one waited for their cores."""
    made = Document(node, "nearfar-osu", seed=1)
    for case, factor in (("osu_bw/H-H/same_numa_node", 1.0), ("osu_bw/H-H/across_packages", 0.6)):
        for size, rate in ((8, 0.02), (4 << 20, 20.0)):
            flow = {"flow": case, "rate": made.rate(rate * factor), "cpus": "0-1", "memory_nodes": [0]}
            made.raw["results"].append({"quantity": "mpi.bandwidth", "cell": case, "bytes": size, "converged": True,
                                        "verified": True, "flows": [flow]})  # fmt: skip
    made.raw["mpi"] = {"implementation": "openmpi", "version": "4.1.4", "library": "Open MPI v4.1.4", "launcher": "mpirun",
                       "waited": {"osu_bw/H-H/across_packages": 0.5}, "iterations": {}, "ranks": {}, "nics": []}  # fmt: skip
    return made


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
