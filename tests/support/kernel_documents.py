"""Documents of ``nearfar-kernels`` made by hand, for tests: near times by a table, other paths as much slower as a model's links say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nearfar import kernels
from nearfar.base import site_directories
from nearfar.cells import parse
from nearfar.measurement import Document, from_raw
from nearfar.model.prediction import NodeType, load_node_type, predict
from nearfar.topology import node_to_document

#: Of each kernel: bytes in, bytes out, operations (0: not counted), microseconds of the kernel alone.
TABLE: Mapping[str, tuple[int, int, float, float]] = {
    "sgemm": (134_217_728, 67_108_864, 137_438_953_472.0, 200_000.0),
    "dgemm": (268_435_456, 134_217_728, 137_438_953_472.0, 400_000.0),
    "sfft": (67_108_864, 67_108_864, 4_194_304_000.0, 20_000.0),
    "scan": (67_108_864, 67_108_864, 0.0, 1_000.0),
    "stencil": (67_108_864, 67_108_864, 3_019_898_880.0, 15_000.0),
}


def node_type(name: str = "keeneland") -> NodeType:
    """A node type of the site directories."""
    return load_node_type(name, site_directories())


def rate(unit: str, value: float, part: float = 0.002) -> dict[str, Any]:
    """A figure with an interval of ``part`` of it to both sides."""
    ci = [value * (1 - part), value * (1 + part)]
    return {"unit": unit, "median": value, "ci": ci, "min": ci[0], "max": ci[1], "n": 9}


def link(node: NodeType, cell: str) -> float:
    """GB/s of a lone copy, by the model."""
    total = predict(parse(cell), node).total
    assert total is not None, cell
    return total


def results_of(
    node: NodeType,
    subject: str,
    kernel: str,
    size: str,
    *,
    slower: float = 1.0,
    state: Mapping[str, Any] | None = None,
    **more: Any,
) -> list[dict[str, Any]]:
    """All of one kernel of one subject; ``slower``: its transfers take so many times as long as the model says."""
    there, back, operations, compute = TABLE[kernel]
    gpu, _, numa = subject.partition("/")[0].partition(".")
    t_in = there / link(node, f"{numa}:{gpu}") / 1e3 * slower
    t_out = back / link(node, f"{gpu}:{numa}") / 1e3 * slower
    total = t_in + compute + t_out
    unit, done = ("GFLOP/s", operations / 1e3) if operations else ("GB/s", there / 1e3)
    values = {
        "in": ("us", t_in), "compute": ("us", compute), "out": ("us", t_out), "total": ("us", total),
        "overlapped": ("us", max(compute, t_in, t_out)), "rate": (unit, done / compute),
    }  # fmt: skip
    common = {
        "cell": subject, "bytes": there + back, "in_bytes": there, "out_bytes": back, "operations": operations, "size": size,
        "converged": True, "verified": {"bytes": back}, "gpu_state": {"sm_clock_mhz": 1150, "throttle": [], **(state or {})}, **more,
    }  # fmt: skip
    return [
        {"quantity": f"kernel.{kernel}.{what}", **common, "flows": [{"flow": subject, "rate": rate(of, value)}]}
        for what, (of, value) in values.items()
    ]


def sustained_of(*gpus: str) -> list[dict[str, Any]]:
    """Two seconds at full load, of which the last GPU computes half."""
    rates = {gpu: 350e3 if gpu == gpus[-1] else 700e3 for gpu in gpus}
    return [
        {
            "quantity": kernels.sustained.QUANTITY, "cell": gpu, "kernel": "bf16gemm", "converged": True, "verified": {"bytes": 1},
            "series": [{"at": at, "rate": each, "products": 500, "wrong": 0, "throttle": ["sw_power_cap"]} for at in (1.0, 2.0)],
            "flows": [{"flow": gpu, "rate": {**rate("GFLOP/s", each), "n": 2, "samples": [each, each]}}],
        }
        for gpu, each in rates.items()
    ]  # fmt: skip


def matrix_of(node: NodeType) -> list[dict[str, Any]]:
    """The lone copies of the host-device matrix, by the model."""
    cells = [
        text for gpu in node.node.gpus for numa in node.node.host_numa_nodes
        for text in (f"n{numa.index}:g{gpu.index}", f"g{gpu.index}:n{numa.index}")
    ]  # fmt: skip
    return [
        {"quantity": "copy", "cell": cell, "bytes": 1 << 28, "converged": True, "verified": {"bytes": 1 << 28},
         "flows": [{"flow": cell, "rate": rate("GB/s", link(node, cell))}]}
        for cell in cells
    ]  # fmt: skip


def raw(node: NodeType, results: Iterable[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A document of these results."""
    return {
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-kernels"},
        "node": node_to_document(node.node), "results": list(results), "skipped": [], "failed": [], **more,
    }  # fmt: skip


def every_path(node: NodeType, names: Sequence[str] = tuple(TABLE), size: str = "paper") -> list[dict[str, Any]]:
    """Each of the kernels on each path of the node."""
    subjects = [f"g{gpu.index}.n{numa.index}" for gpu in node.node.gpus for numa in node.node.host_numa_nodes]
    return [entry for subject in subjects for name in names for entry in results_of(node, subject, name, size)]


def document(node: NodeType, results: Iterable[dict[str, Any]], **more: Any) -> Document:
    """The same, read."""
    return from_raw(raw(node, results, **more), "made by hand")


assert set(TABLE) <= set(kernels.KERNELS)
