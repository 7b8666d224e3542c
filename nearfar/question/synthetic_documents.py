"""Documents that were never measured: what a program prints if everything that it is asked can be answered.

Rates are 1; ceilings are line rates, packet headers included. They show which figures there can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nearfar.cells import Cell, Flow
from nearfar.measurement import Document, FlowResult, Rate, Result, Tail
from nearfar.model.prediction import line_rate, peer_link
from nearfar.topology import OWN_LINKS, Node


def of_cells(
    cells: Iterable[Cell], node: Node, quantities: Callable[[Cell], Sequence[str]], curves: bool = False
) -> Document:
    """What ``nearfar-copy`` prints of these cells, asked for these quantities; ``curves``: measured over
    sizes."""
    cells = [cell for cell in cells if cell.flows]  # none at all: a ramp of a node without GPUs
    results = [_result(cell, quantity, node) for cell in cells for quantity in quantities(cell)]
    lone = [cell for cell in cells if cell.lone] if curves else []
    raw = {"curves": [{"cell": str(cell), "half_bandwidth_bytes": 1} for cell in lone]}
    return document(raw, node, results)


def _result(cell: Cell, quantity: str, node: Node) -> Result:
    unit = "us" if quantity.startswith(("latency.", "tail")) else "GB/s"
    flows = tuple(
        FlowResult(f, rate(unit), None, flow_line_rate(f, node), rate(unit) if f.tasks > 1 else None)
        for f in cell.flows
    )
    total = None if cell.lone else rate(unit)
    tail = Tail(1, 1.0, 1.0, 1.0, 1.0, 0.0, 1) if quantity == "tail" else None
    return Result(quantity=quantity, subject=str(cell), cell=cell, verified=True, flows=flows, total=total, tail=tail)


def flow_line_rate(flow: Flow, node: Node) -> float | None:
    """What the narrowest link of a flow carries in one direction, GB/s; None where it crosses none, or nobody knows."""
    if flow.kind in ("local", "gpu_stream"):
        return None
    if flow.kind == "peer" and not flow.staged:
        link = peer_link(node, *flow.gpus)
        if link is not None:
            return line_rate(link)
        if node.peer(*flow.gpus).startswith(OWN_LINKS):
            return None  # lanes of an unknown generation, or xGMI
    gpus = [node.gpu(index) for index in flow.gpus]
    rates = [line_rate(gpu.link) for gpu in gpus if gpu is not None]
    known = [rate for rate in rates if rate is not None]
    return min(known) if known and len(known) == len(flow.gpus) else None


def document(raw: dict[str, Any], node: Node, results: Sequence[Result] = ()) -> Document:
    """A document of these results; ``raw``: what stands beside them in the file."""
    return Document({"kind": "modelled", **raw}, "<synthetic>", node, tuple(results), (), ())


def rate(unit: str) -> Rate:
    """A rate of 1."""
    return Rate(unit=unit, median=1.0, n=1, least=1.0, most=1.0)
