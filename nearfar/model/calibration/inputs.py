"""Which measured cells calibrate: single flows, STREAM, both directions of a pair, one saturating cell a capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nearfar.cells import Cell, Flow
from nearfar.model.prediction import READ_AND_WRITTEN, CompiledCell, NodeType, plain

#: The memory of a NUMA node as STREAM, reads and writes see it; a byte read and a byte written may cost it unlike.
STREAMED, READ, WRITTEN = "memory", "memory, read", "memory, written"


def asked(cell: Cell, blank: NodeType) -> dict[str, dict[Flow, float]]:
    """What a byte of each flow asks of each capacity, by its name; memory apart for reads and writes.

    ``blank`` is a node type without values. Capacities that are a flow's own (``n0:g3``) go by its name.
    """
    compiled = CompiledCell(cell, blank)
    weights: dict[str, dict[Flow, float]] = {}
    for name, crossing in compiled.weights.items():
        if name not in blank.capacities and ":" not in name:
            continue  # how flows between GPUs share their way, where nothing describes it
        for place, weight in crossing:
            flow = cell.flows[place]
            for exact, share in _exactly(name, flow):
                weights.setdefault(exact, {})[flow] = weight * share
    return weights


def own_name(flow: Flow) -> str:
    """The name of what a flow carries alone."""
    return str(plain(flow))


def pair_of_opposites(cell: Cell) -> bool:
    """Whether the cell is a flow and the one back."""
    if len(cell.flows) != 2:
        return False
    a, b = map(plain, cell.flows)
    return a.kind != "stream" and (a.source, a.destination) == (b.destination, b.source)


def choose(cells: Sequence[Cell], blank: NodeType) -> list[Cell]:
    """Those of the measured cells that calibrate, in their order."""
    chosen = {cell for cell in cells if cell.lone or pair_of_opposites(cell)}
    most: dict[str, Cell] = {}
    for cell in cells:
        if cell.lone or any(plain(flow) != flow for flow in cell.flows):
            continue
        for name, flows in asked(cell, blank).items():
            one_kind = len({flow.direction for flow in cell.flows}) == 1
            everyone = len(flows) == len(cell.flows) and cell.flows[0].kind != "stream"
            both_ways = name.startswith("switch:") and name.endswith(".both")
            if (one_kind or both_ways) and everyone and (name not in most or len(cell.flows) > len(most[name].flows)):
                most[name] = cell
    chosen.update(most.values())
    return [cell for cell in cells if cell in chosen]


def used(asks: Mapping[str, Mapping[Flow, float]], rates: Mapping[Flow, float]) -> dict[str, float]:
    """What rates ask of each capacity, GB/s."""
    return {name: sum(weight * rates[flow] for flow, weight in flows.items()) for name, flows in asks.items()}


def _exactly(name: str, flow: Flow) -> list[tuple[str, float]]:
    if not name.endswith(".memory"):
        return [(name, 1.0)]
    stem = name[: -len("memory")]
    if flow.kind == "stream":
        read, written = READ_AND_WRITTEN[flow.kernel or "copy"]
        return [(stem + STREAMED, 1.0), (stem + READ, read), (stem + WRITTEN, written)]
    return [(stem + (READ if flow.direction == "h2d" else WRITTEN), 1.0)]
