"""What the near path carries over another one, by the copies of the same node: the r of a kernel's expected penalty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.cells import Cell, host_device_matrix
from nearfar.measurement import Document, Rate
from nearfar.topology import Node

from .subjects import KernelSubject

#: Lone copies' rates by (GPU, NUMA node, ``h2d`` or ``d2h``).
LinkRates = Mapping[tuple[int, int, str], Rate]


@dataclass(frozen=True)
class Slowdown:
    """How many times as long a transfer takes on another path as on the near one, with the interval of it."""

    value: float
    low: float
    high: float


def cells_of(node: Node) -> list[Cell]:
    """The copies whose rates are asked for: lone ones, of every GPU with every NUMA node."""
    return [cell for cell in host_device_matrix(node)[0] if cell.lone]


def of_document(document: Document) -> dict[tuple[int, int, str], Rate]:
    """The host-device matrix of a document: its lone copies between page-locked host memory and GPUs, of the largest size."""
    rates: dict[tuple[int, int, str], tuple[int, Rate]] = {}
    for result in document.results:
        if result.quantity != "copy" or result.cell is None or not result.cell.lone:
            continue
        flow = result.cell.flows[0]
        if flow.kind != "host" or flow.options or flow.numa_node is None:
            continue
        key, size = (flow.gpus[0], flow.numa_node, str(flow.direction)), result.bytes or 0
        if key not in rates or size > rates[key][0]:
            rates[key] = size, result.flows[0].rate
    return {key: rate for key, (_, rate) in rates.items()}


def slowdown(rates: LinkRates, near: KernelSubject, other: KernelSubject, way: str) -> Slowdown | None:
    """The near path's rate over the other's; None where the matrix lacks one of them."""
    if near.gpu is None or other.gpu is None:
        return None
    fast, slow = rates.get((near.gpu, near.numa, way)), rates.get((other.gpu, other.numa, way))
    if fast is None or slow is None or not slow.value:
        return None
    (fast_low, fast_high), (slow_low, slow_high) = (
        rate.value_interval or (rate.value, rate.value) for rate in (fast, slow)
    )
    return Slowdown(fast.value / slow.value, fast_low / slow_high, fast_high / slow_low)
