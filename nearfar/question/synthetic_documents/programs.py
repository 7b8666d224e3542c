"""Documents that were never measured: what each program prints when everything that it is asked can be answered.

Their rates are 1; their ceilings are line rates, packet headers included. They serve to know which figures there can be.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nearfar import kernels
from nearfar.cells import Cell, Flow
from nearfar.measurement import Document, FlowResult, Rate, Result, Tail
from nearfar.model import link_limits
from nearfar.model.prediction import line_rate, peer_link
from nearfar.mpi import contention, load_balance
from nearfar.mpi.osu import BENCHMARKS, LARGE, MIDDLE, SMALL, MpiCase
from nearfar.topology import Node


def of_cells(
    cells: Iterable[Cell], node: Node, quantities: Callable[[Cell], Sequence[str]], curves: bool = False
) -> Document:
    """What ``nearfar-copy`` or ``nearfar-stream`` prints of these cells, asked for these quantities; ``curves``: measured over
    sizes."""
    cells = [cell for cell in cells if cell.flows]  # none at all: a ramp of a node without GPUs
    results = [_result(cell, quantity, node) for cell in cells for quantity in quantities(cell)]
    lone = [cell for cell in cells if cell.lone] if curves else []
    raw = {"curves": [{"cell": str(cell), "half_bandwidth_bytes": 1} for cell in lone]}
    return _document(raw, node, results)


def _result(cell: Cell, quantity: str, node: Node) -> Result:
    unit = "us" if quantity.startswith(("latency.", "tail")) else "GB/s"
    flows = tuple(
        FlowResult(f, _rate(unit), None, flow_line_rate(f, node), _rate(unit) if f.tasks > 1 else None)
        for f in cell.flows
    )
    total = None if cell.lone else _rate(unit)
    tail = Tail(1, 1.0, 1.0, 1.0, 1.0, 0.0, 1) if quantity == "tail" else None
    return Result(quantity, str(cell), cell, None, True, True, (), flows, total, tail=tail)


def flow_line_rate(flow: Flow, node: Node) -> float | None:
    """What the narrowest link of a flow carries in one direction, GB/s; None where it crosses none, or nobody knows."""
    if flow.kind in ("local", "gpu_stream"):
        return None
    if flow.kind == "peer" and not flow.staged:
        link = peer_link(node, *flow.gpus)
        if link is not None:
            return line_rate(link)
        if str(node.peers.get((min(flow.gpus), max(flow.gpus)), "")).startswith("NV"):
            return None  # lanes of an unknown generation
    gpus = [node.gpu(index) for index in flow.gpus]
    rates = [line_rate(link_limits.nominal_link(gpu)) for gpu in gpus if gpu is not None]
    known = [rate for rate in rates if rate is not None]
    return min(known) if known and len(known) == len(flow.gpus) else None


def of_mpi(cases: Iterable[MpiCase], node: Node) -> Document:
    """What ``nearfar osu`` prints of these cases."""
    results = [
        Result(quantity, str(case), None, size, True, True, (), (), None, _rate(unit))
        for case in cases
        for _, quantity, unit, _ in BENCHMARKS[case.benchmark].columns
        for size in (SMALL, MIDDLE, LARGE)
    ]
    return _document({}, node, results)


def of_contention(subjects: Iterable[str], node: Node) -> Document:
    """What ``nearfar-contention`` prints of these subjects."""
    results = []
    for subject in subjects:
        latency = "pingpong" in subject
        if ".mpi_only." in subject:
            results.append(_of_mpi_alone(subject, latency))
            continue
        mpi = contention.MPI_LATENCY if latency else contention.MPI_BANDWIDTH
        kinds = ("penalty", "tail_penalty", "polled_penalty") if latency else ("penalty", "polled_penalty")
        for quantity, penalties in ((mpi, kinds), (contention.MOVED[0], ("penalty",))):
            one = {"unit": "1", "median": 1.0}
            result = {"quantity": quantity, "cell": subject, "converged": True, "verified": True, "flows": []}
            results.append({**result, **dict.fromkeys(penalties, one)})
    return _document({"results": results}, node)


def of_pairs(subjects: Iterable[str], node: Node) -> Document:
    """What ``nearfar-contention --between`` prints of these subjects."""
    return _document({"results": [_of_mpi_alone(each, "pingpong" in each) for each in subjects]}, node)


def _of_mpi_alone(subject: str, latency: bool) -> dict[str, Any]:
    total = {"unit": "us" if latency else "GB/s", "median": 1.0}
    return {"quantity": contention.ALONE[not latency], "cell": subject, "converged": True, "verified": True,
            "flows": [], "total": total}  # fmt: skip


def of_saxpy(node: Node) -> Document:
    """What ``nearfar-kernels saxpy`` prints under every binding."""
    units = {"run_time": "ms", "h2d": "GB/s", "d2h": "GB/s", "kernel": "GB/s"}
    whats = ("load_balance", "communication_efficiency", "parallel_efficiency", "transfer_imbalance", *units)
    entries = [(binding, what, "rank0") for binding in load_balance.BINDINGS for what in whats]
    entries += [("gpu", "speedup", other) for other in load_balance.BINDINGS if other != "gpu"]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for binding, what, flow in entries:
        result = found.setdefault((binding, what), {
            "quantity": f"saxpy.{what}", "cell": load_balance.subject(binding), "converged": True, "verified": True, "flows": [],
        })  # fmt: skip
        result["flows"].append({"flow": flow, "rate": {"unit": units.get(what, "1"), "median": 1.0}})
    return _document({"results": list(found.values())}, node)


def of_kernels(subjects: Iterable[str], node: Node, names: Sequence[str]) -> Document:
    """What ``nearfar-kernels`` prints of these subjects and kernels, at every size, and smaller for want of memory."""
    raw, results = [], []
    for subject in subjects:
        for size, smaller in itertools.product(kernels.SIZES, ("", "memory is in use")):
            for quantity in kernels.quantities(names):
                rate = _rate("GFLOP/s" if quantity.endswith("gemm.rate") else "us")
                raw.append({"size": size})
                results.append(
                    Result(
                        quantity, subject, None, 1 if smaller else 2, True, True, (), (), None, rate, smaller=smaller
                    )
                )
    return _document({"results": raw}, node, results)


def _document(raw: dict[str, Any], node: Node, results: Sequence[Result] = ()) -> Document:
    return Document({"kind": "modelled", **raw}, "<synthetic>", node, tuple(results), (), ())


def _rate(unit: str) -> Rate:
    return Rate(unit, 1.0, None, 1, 1.0, 1.0)
