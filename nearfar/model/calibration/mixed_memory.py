"""How a memory that GPUs read and write at once differs from one that they only read or write, from the fullest such cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nearfar.base import statistics
from nearfar.cells import Cell
from nearfar.model.prediction import NodeType, plain, predict

from .measured import MeasuredCell

#: A write that has this part of what it has alone is held back by nothing but itself.
_ALONE = 0.98


def fullest_both(cells: Sequence[MeasuredCell], memory: int) -> MeasuredCell | None:
    """The cell in which most GPUs read and write that memory, each both ways, and at least two; None where there is none."""
    candidates = [cell for cell in cells if len(cell.cell.flows) >= 4 and _both_ways(cell.cell, memory)]
    return max(candidates, key=lambda cell: len(cell.cell.flows), default=None)


def with_both_ways(calibrated: NodeType, cells: Sequence[MeasuredCell]) -> tuple[NodeType, list[Cell]]:
    """The node type with each memory's ``mixed_weight`` and ``read_share``, and the cells that gave them.

    A cell tells them where the memory is predicted to be full and the writes have less than alone.
    """
    alone = {cell.cell.flows[0]: cell.total for cell in cells if cell.cell.lone}
    capacities = dict(calibrated.capacities)
    used: list[Cell] = []
    for memory in calibrated.node.host_numa_nodes:
        name = f"n{memory.index}.memory"
        cell, capacity = fullest_both(cells, memory.index), capacities[name]
        # What the DIMMs carry at most is no figure of this memory.
        if cell is None or capacity.value is None or name not in predict(cell.cell, calibrated).limited_by:
            continue
        rates = dict(zip(cell.cell.flows, cell.rates))
        writes = {flow.gpus[0]: flow for flow in rates if flow.direction == "d2h"}
        if any(rates[write] > _ALONE * alone.get(write, 0) for write in writes.values()):
            continue
        reads = [flow for flow in rates if flow.direction == "h2d"]
        share = statistics.median(rates[read] / rates[writes[read.gpus[0]]] for read in reads)
        asked = capacity.read_weight * sum(rates[read] for read in reads)
        asked += capacity.write_weight * sum(rates[write] for write in writes.values())
        capacities[name] = replace(capacity, read_share=min(1.0, share), mixed_weight=capacity.value / asked)
        used.append(cell.cell)
    return replace(calibrated, capacities=capacities), used


def _both_ways(cell: Cell, memory: int) -> bool:
    flows = cell.flows
    if any(flow.kind != "host" or plain(flow) != flow or flow.numa_node != memory for flow in flows):
        return False
    down, up = ({flow.gpus[0] for flow in flows if flow.direction == way} for way in ("h2d", "d2h"))
    return down == up
