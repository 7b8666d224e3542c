"""Which measured cells calibrate (single flows, STREAM, both directions of a pair, one saturating cell a capacity), and what each
capacity is worth by them.

Every flow is held back by something that is full on its way. What a cell asks of a capacity, it carries; the most that
any asks is the least that it can be. A capacity is full in a cell where it is asked for that much. Where it alone can
hold a flow back, it was seen full: an interval. Where several can and none was seen full elsewhere, they are a class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearfar.base import CouldNotJudge, statistics
from nearfar.cells import Cell, Flow
from nearfar.model.prediction import READ_AND_WRITTEN, CompiledCell, NodeType, line_rate, plain

from .measured import MeasuredCell

#: A capacity may hold a flow back where it is asked for all but this part of the most that it ever carried.
FULL_WITHIN = 0.02
#: A flow that carries this much more beside others than alone contradicts itself.
CONTRADICTION = 0.05

KNOWN, AT_LEAST, CLASS = "interval", "lower bound", "class"


@dataclass(frozen=True)
class Estimate:
    """A capacity, GB/s. ``kind``: ``interval`` (seen full; ``value`` within ``low`` to ``high``), ``lower bound`` (never
    seen full: at least ``low``) or ``class`` (one of ``members`` is full at ``low``; these cells do not tell which).

    ``cells`` are the evidence.
    """

    name: str
    kind: str
    value: float | None
    low: float
    high: float | None
    members: tuple[str, ...]
    cells: tuple[Cell, ...]


def infer(cells: Sequence[MeasuredCell], blank: NodeType) -> tuple[dict[str, Estimate], list[Cell]]:
    """The capacities by name, and the cells in which nothing known holds some flow back."""
    asks = {cell.cell: asked(cell.cell, blank) for cell in cells}
    carried = {cell.cell: used(asks[cell.cell], dict(zip(cell.cell.flows, cell.rates))) for cell in cells}
    _refuse_contradictions(cells, blank)
    most: dict[str, float] = {}
    for amounts in carried.values():
        for name, amount in amounts.items():
            most[name] = max(most.get(name, 0.0), amount)
    suspects: list[tuple[MeasuredCell, tuple[str, ...]]] = []
    unexplained: list[Cell] = []
    for cell in cells:
        for flow in cell.cell.flows:
            whole = _whole_memory(cell, flow, most)
            carried[cell.cell].update((memory, cell.total) for memory in whole)
            names = _suspects(flow, asks[cell.cell], carried[cell.cell], most) + whole
            if names:
                suspects.append((cell, names))
            elif cell.cell.lone or pair_of_opposites(cell.cell):
                own = own_name(flow) if cell.cell.lone else str(cell.cell)
                most[own] = carried[cell.cell][own] = cell.total
                suspects.append((cell, (own,)))
            elif cell.cell not in unexplained:
                unexplained.append(cell.cell)
        if pair_of_opposites(cell.cell) and not any(name in blank.capacities for name in asks[cell.cell]):
            # GPUs that are linked directly: both directions at once have a figure of their own.
            most[str(cell.cell)] = carried[cell.cell][str(cell.cell)] = cell.total
            suspects.append((cell, (str(cell.cell),)))
    return _estimates(suspects, carried, most), unexplained


def _suspects(
    flow: Flow,
    asks: Mapping[str, Mapping[Flow, float]],
    carried: Mapping[str, float],
    most: Mapping[str, float],
) -> tuple[str, ...]:
    """What may hold a flow back in a cell. STREAM is what measures its memory: nothing else of that holds it back."""
    return tuple(
        name
        for name, flows in asks.items()
        if flow in flows
        and carried[name] >= (1 - FULL_WITHIN) * most[name]
        and not (flow.kind == "stream" and name.endswith((READ, WRITTEN)))
    )


def _whole_memory(cell: MeasuredCell, flow: Flow, most: Mapping[str, float]) -> tuple[str, ...]:
    """The memory of a flow that is beside others back, where all together are all that STREAM has from it."""
    memory = f"n{flow.numa_node}.{STREAMED}"
    whole = most.get(memory, math.inf)
    alone = all(other.kind == "host" and other.numa_node == flow.numa_node for other in cell.cell.flows)
    fills = len({f.direction for f in cell.cell.flows}) > 1 and cell.total >= (1 - FULL_WITHIN) * whole
    return (memory,) if alone and fills else ()


def _estimates(
    suspects: Sequence[tuple[MeasuredCell, tuple[str, ...]]],
    carried: Mapping[Cell, Mapping[str, float]],
    most: Mapping[str, float],
) -> dict[str, Estimate]:
    seen_full = {names[0] for _, names in suspects if len(names) == 1}
    estimates: dict[str, Estimate] = {}
    for name in sorted(seen_full):
        witnesses = [measured for measured, names in suspects if names == (name,)]
        estimates[name] = _interval(name, witnesses, carried)
    for name, amount in most.items():
        if name in estimates:
            continue
        sets = [(measured, names) for measured, names in suspects if name in names and not seen_full & set(names)]
        if sets:
            members = tuple(sorted({other for _, names in sets for other in names}))
            evidence = tuple(dict.fromkeys(measured.cell for measured, _ in sets))
            estimates[name] = Estimate(name, CLASS, None, amount, None, members, evidence)
        else:
            evidence = tuple(cell for cell, amounts in carried.items() if amounts.get(name) == amount)
            estimates[name] = Estimate(name, AT_LEAST, None, amount, None, (), evidence)
    return estimates


def _interval(name: str, witnesses: Sequence[MeasuredCell], carried: Mapping[Cell, Mapping[str, float]]) -> Estimate:
    """The median of what the cells ask that it alone holds back; from the lowest end of their intervals to the highest."""
    amounts: dict[Cell, tuple[float, float, float]] = {}
    for cell in witnesses:
        amount = carried[cell.cell][name]
        low, high = cell.interval
        amounts[cell.cell] = amount, amount * low / cell.total, amount * high / cell.total
    middles, lows, highs = zip(*amounts.values())
    return Estimate(name, KNOWN, statistics.median(middles), min(lows), max(highs), (), tuple(amounts))


def _refuse_contradictions(cells: Sequence[MeasuredCell], blank: NodeType) -> None:
    """Refuse rates that no node can have: above the link's line rate, or far above the same flow's alone."""
    alone = {cell.cell.flows[0]: cell for cell in cells if cell.cell.lone}
    for cell in cells:
        for flow, rate, (low, _) in zip(cell.cell.flows, cell.rates, cell.intervals):
            lone = alone.get(flow)
            if lone is not None and low > lone.interval[1] * (1 + CONTRADICTION):
                problem = f"{flow} carries {rate:.2f} GB/s in {cell.cell} but {lone.total:.2f} alone"
                raise CouldNotJudge(f"contradictory figures: {problem}: measure them again, in one run")
            gpu = blank.node.gpu(flow.gpus[0]) if flow.kind == "host" else None
            line = line_rate(gpu.link) if gpu is not None else None
            if line is not None and low > line:
                problem = f"{flow} carries {rate:.2f} GB/s in {cell.cell}, above its link's line rate of {line:.2f}"
                raise CouldNotJudge(f"contradictory figures: {problem}: wrong data, or a wrong link in the node type")


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
