"""A node type's capacities from measured cells, and all other cells beside what these predict."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nearfar.base import CouldNotJudge, statistics
from nearfar.cells import Cell, Flow, parse
from nearfar.model.prediction import (
    Capacity,
    CompiledCell,
    NodeType,
    check_endpoints,
    implied_capacities,
    known_values,
    plain,
    predict,
)
from nearfar.topology import Node

from .inference import AT_LEAST, CLASS, KNOWN, READ, STREAMED, WRITTEN, Estimate, choose, infer, pair_of_opposites
from .measured import MeasuredCell

_FULL_WITHIN = 0.005
_SOURCE = "calibrated"


@dataclass(frozen=True)
class Comparison:
    """A measured cell beside its prediction. ``predicted`` (flows' rates) is ``None`` where nothing bounds a flow.

    ``calibrates``: the cell is an input, its deviation a residual. ``hangs_on`` are capacities never saturated of which
    the cell asks more than they are known to carry.
    """

    measured: MeasuredCell
    predicted: tuple[float, ...] | None
    limited_by: tuple[str, ...]
    hangs_on: tuple[str, ...]
    calibrates: bool

    @property
    def deviation(self) -> float | None:
        """Predicted total ÷ measured total − 1."""
        return None if self.predicted is None else sum(self.predicted) / self.measured.total - 1

    @property
    def shares(self) -> tuple[float, float] | None:
        """Lowest and highest measured ÷ predicted of the cell's flows, beside the total's: 1 where flows share as
        predicted."""
        if self.predicted is None:
            return None
        whole = self.measured.total / sum(self.predicted)
        ratios = [rate / own / whole for rate, own in zip(self.measured.rates, self.predicted)]
        return min(ratios), max(ratios)


@dataclass(frozen=True)
class Calibration:
    """``node_type`` with the capacities found; ``estimates`` by name; ``unexplained`` cells in which nothing known holds
    some flow back."""

    node_type: NodeType
    estimates: dict[str, Estimate]
    comparisons: tuple[Comparison, ...]
    unexplained: tuple[Cell, ...]


def calibrate(node_type: NodeType, cells: Sequence[MeasuredCell]) -> Calibration:
    """The capacities of a node, from its measured cells alone: the values of ``node_type`` are not used.

    Refuses (``CouldNotJudge``) contradictory figures, and those among which no lone flow is.
    """
    for cell in cells:
        check_endpoints(node_type.node, cell.cell, f"node type {node_type.name}")
    if not any(cell.cell.lone for cell in cells):
        raise CouldNotJudge("nothing to calibrate from: no figure of a flow alone; measure n0:g0 and the like")
    blank = without_values(node_type)
    inputs = set(choose([cell.cell for cell in cells], blank))
    estimates, unexplained = infer([cell for cell in cells if cell.cell in inputs], blank)
    calibrated, divided = with_both_ways(_with_values(blank, estimates, cells), cells)
    inputs.update(divided)
    comparisons = tuple(_compare(cell, calibrated, estimates, cell.cell in inputs) for cell in cells)
    return Calibration(calibrated, estimates, comparisons, tuple(unexplained))


def node_type_of(node: Node, name: str) -> NodeType:
    """A node type without values, of a document's node."""
    return NodeType(name, node, implied_capacities(node))


def without_values(node_type: NodeType) -> NodeType:
    """The node type as its topology alone implies it."""
    return replace(node_type, capacities=implied_capacities(node_type.node), caps={}, stream={})


def _with_values(blank: NodeType, estimates: dict[str, Estimate], cells: Sequence[MeasuredCell]) -> NodeType:
    capacities = dict(blank.capacities)
    caps: dict[Cell, Capacity] = {}
    for name, estimate in estimates.items():
        if name.endswith((READ, WRITTEN, STREAMED)):
            continue
        if name not in capacities:
            # What a flow carries alone holds whether something else may hold it back or not.
            caps[parse(name)] = Capacity(name, estimate.value or estimate.low, source=_SOURCE)
        elif estimate.value is not None:
            capacities[name] = replace(capacities[name], value=estimate.value, source=_SOURCE)
        else:
            capacities[name] = replace(capacities[name], source=estimate_text(estimate))
    undecided = {cell for estimate in estimates.values() if estimate.kind == CLASS for cell in estimate.cells}
    uplinks = [e for name, e in estimates.items() if e.kind == CLASS and re.fullmatch(r"switch:.*\.both", name)]
    behind_uplinks = {cell for estimate in uplinks for cell in estimate.cells}
    stream: dict[tuple[int, int], dict[str, float]] = {}
    for measured in cells:
        flow = measured.cell.flows[0]
        if measured.cell.lone and flow.kind == "stream" and flow.kernel and flow.cores is None:
            stream.setdefault((flow.source.index, flow.destination.index), {})[flow.kernel] = measured.total
            caps.pop(measured.cell, None)
        elif measured.cell.lone and measured.cell in undecided:
            # Whichever of the class it is: alone the flow carries this.
            caps[measured.cell] = Capacity(str(measured.cell), measured.total, source=_SOURCE)
        elif pair_of_opposites(measured.cell) and measured.cell in behind_uplinks:
            # Both ways at once the link and the uplink that it shares: together they carry this.
            caps[measured.cell] = Capacity(str(measured.cell), measured.total, source=_SOURCE)
    for memory in blank.node.host_numa_nodes:
        capacities[f"n{memory.index}.memory"] = _memory(blank, memory.index, estimates)
    return replace(blank, capacities=capacities, caps=caps, stream=stream)


def _memory(blank: NodeType, index: int, estimates: dict[str, Estimate]) -> Capacity:
    """The memory's capacity in bytes of STREAM (of the faster direction where there is none), reads and writes weighted
    so that each direction alone carries what it was seen full at."""
    stem = f"n{index}."
    capacity = blank.capacities[stem + "memory"]
    full = {
        what: estimate.value
        for what in (READ, WRITTEN)
        if (estimate := estimates.get(stem + what)) is not None and estimate.value is not None
    }
    streamed = estimates.get(stem + STREAMED)
    value = streamed.value or streamed.low if streamed is not None else max(full.values(), default=None)
    if value is None:
        seen = [e for what in (READ, WRITTEN) if (e := estimates.get(stem + what)) is not None]
        return replace(capacity, source=estimate_text(max(seen, key=lambda e: e.low)) if seen else "not measured")

    def weight(what: str) -> float:
        least = estimates.get(stem + what)
        carried = least.low if least is not None else 0.0
        return value / full[what] if what in full else min(1.0, value / carried) if carried else 1.0

    return replace(capacity, value=value, source=_SOURCE, read_weight=weight(READ), write_weight=weight(WRITTEN))


def estimate_text(estimate: Estimate) -> str:
    """What is known of a capacity, in words."""
    if estimate.kind == KNOWN:
        return f"{estimate.low:.2f} to {estimate.high:.2f} GB/s"
    if estimate.kind == AT_LEAST:
        return f"never saturated: at least {estimate.low:.2f} GB/s"
    others = ", ".join(member for member in estimate.members if member != estimate.name)
    return f"at least {estimate.low:.2f} GB/s; these cells do not distinguish it from {others}"


def _compare(cell: MeasuredCell, calibrated: NodeType, estimates: dict[str, Estimate], calibrates: bool) -> Comparison:
    compiled = CompiledCell(cell.cell, calibrated)
    crossed = compiled.capacities.values()
    known = {**known_values(calibrated), **{c.name: c.value for c in crossed if c.value is not None}}
    # What nobody knows carries at best what the hardware can.
    values = {**{c.name: c.peak for c in crossed if c.peak is not None}, **known}
    rates = compiled.rates(values)
    if not all(map(math.isfinite, rates)):
        return Comparison(cell, None, (), (), calibrates)
    full = [
        name
        for name in compiled.weights
        if name in values and compiled.used(name, rates) >= (1 - _FULL_WITHIN) * values[name]
    ]
    hangs = [
        name
        for name in compiled.weights
        if name not in known
        and compiled.used(name, rates) > _least(name, cell.cell.flows, estimates) * (1 + _FULL_WITHIN)
    ]
    return Comparison(cell, tuple(rates), tuple(full), tuple(hangs), calibrates)


def _least(name: str, flows: Sequence[Flow], estimates: dict[str, Estimate]) -> float:
    """What a capacity without a value is known to carry; of a memory, in the directions of these flows."""
    stem, _, what = name.partition(".")
    names = [f"{stem}.{READ}", f"{stem}.{WRITTEN}"] if what == "memory" else [name]
    return max((estimates[n].low for n in names if n in estimates), default=0.0)


def as_json(calibration: Calibration, kind: str, source: str) -> dict[str, Any]:
    """``nearfar-calibration/1``: capacities in GB/s with their evidence, and each measured cell beside its prediction.

    ``kind`` and ``source`` are those of the document that the cells are from.
    """
    return {
        "schema": "nearfar-calibration/1",
        "kind": kind,
        "node_type": calibration.node_type.name,
        "source": source,
        "unit": "GB/s",
        "capacities": {
            name: {
                "kind": e.kind,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "class": list(e.members),
                "cells": [str(cell) for cell in e.cells],
            }
            for name, e in calibration.estimates.items()
        },
        "weights": {
            name: {"read": c.read_weight, "write": c.write_weight, "read_share": c.read_share, "mixed": c.mixed_weight}
            for name, c in calibration.node_type.capacities.items()
            if name.endswith(".memory") and c.value is not None
        },
        "cells": [_comparison(row) for row in calibration.comparisons],
        "unexplained": [str(cell) for cell in calibration.unexplained],
    }


def _comparison(row: Comparison) -> dict[str, Any]:
    return {
        "cell": str(row.measured.cell),
        "calibrates": row.calibrates,
        "measured": row.measured.total,
        "predicted": None if row.predicted is None else sum(row.predicted),
        "deviation": row.deviation,
        "flows": [
            {"flow": str(flow), "measured": rate, "predicted": None if row.predicted is None else row.predicted[place]}
            for place, (flow, rate) in enumerate(zip(row.measured.cell.flows, row.measured.rates))
        ],
        "limited_by": list(row.limited_by),
        "never_seen_full": list(row.hangs_on),
    }


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
