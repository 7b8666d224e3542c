"""What each capacity is worth, from the cells that calibrate.

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
from nearfar.model.prediction import NodeType, line_rate

from .inputs import READ, STREAMED, WRITTEN, asked, own_name, pair_of_opposites, used
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
    asks = {one.cell: asked(one.cell, blank) for one in cells}
    carried = {one.cell: used(asks[one.cell], dict(zip(one.cell.flows, one.rates))) for one in cells}
    _refuse_contradictions(cells, blank)
    most: dict[str, float] = {}
    for amounts in carried.values():
        for name, amount in amounts.items():
            most[name] = max(most.get(name, 0.0), amount)
    suspects: list[tuple[MeasuredCell, tuple[str, ...]]] = []
    unexplained: list[Cell] = []
    for one in cells:
        for flow in one.cell.flows:
            whole = _whole_memory(one, flow, most)
            carried[one.cell].update((memory, one.total) for memory in whole)
            found = _suspects(flow, asks[one.cell], carried[one.cell], most) + whole
            if found:
                suspects.append((one, found))
            elif one.cell.lone or pair_of_opposites(one.cell):
                own = own_name(flow) if one.cell.lone else str(one.cell)
                most[own] = carried[one.cell][own] = one.total
                suspects.append((one, (own,)))
            elif one.cell not in unexplained:
                unexplained.append(one.cell)
        if pair_of_opposites(one.cell) and not any(name in blank.capacities for name in asks[one.cell]):
            # GPUs that are linked directly: both directions at once have a figure of their own.
            most[str(one.cell)] = carried[one.cell][str(one.cell)] = one.total
            suspects.append((one, (str(one.cell),)))
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


def _whole_memory(one: MeasuredCell, flow: Flow, most: Mapping[str, float]) -> tuple[str, ...]:
    """The memory of a flow that is beside others back, where all together are all that STREAM has from it."""
    memory = f"n{flow.numa_node}.{STREAMED}"
    whole = most.get(memory, math.inf)
    alone = all(other.kind == "host" and other.numa_node == flow.numa_node for other in one.cell.flows)
    fills = len({f.direction for f in one.cell.flows}) > 1 and one.total >= (1 - FULL_WITHIN) * whole
    return (memory,) if alone and fills else ()


def _estimates(
    suspects: Sequence[tuple[MeasuredCell, tuple[str, ...]]],
    carried: Mapping[Cell, Mapping[str, float]],
    most: Mapping[str, float],
) -> dict[str, Estimate]:
    seen_full = {names[0] for _, names in suspects if len(names) == 1}
    found: dict[str, Estimate] = {}
    for name in sorted(seen_full):
        witnesses = [one for one, names in suspects if names == (name,)]
        found[name] = _interval(name, witnesses, carried)
    for name, amount in most.items():
        if name in found:
            continue
        sets = [(one, names) for one, names in suspects if name in names and not seen_full & set(names)]
        if sets:
            members = tuple(sorted({other for _, names in sets for other in names}))
            evidence = tuple(dict.fromkeys(one.cell for one, _ in sets))
            found[name] = Estimate(name, CLASS, None, amount, None, members, evidence)
        else:
            evidence = tuple(cell for cell, amounts in carried.items() if amounts.get(name) == amount)
            found[name] = Estimate(name, AT_LEAST, None, amount, None, (), evidence)
    return found


def _interval(name: str, witnesses: Sequence[MeasuredCell], carried: Mapping[Cell, Mapping[str, float]]) -> Estimate:
    """The median of what the cells ask that it alone holds back; from the lowest end of their intervals to the highest."""
    amounts: dict[Cell, tuple[float, float, float]] = {}
    for one in witnesses:
        amount = carried[one.cell][name]
        low, high = one.interval
        amounts[one.cell] = amount, amount * low / one.total, amount * high / one.total
    middles, lows, highs = zip(*amounts.values())
    return Estimate(name, KNOWN, statistics.median(middles), min(lows), max(highs), (), tuple(amounts))


def _refuse_contradictions(cells: Sequence[MeasuredCell], blank: NodeType) -> None:
    """Refuse rates that no node can have: above the link's line rate, or far above the same flow's alone."""
    alone = {one.cell.flows[0]: one for one in cells if one.cell.lone}
    for one in cells:
        for flow, rate, (low, _) in zip(one.cell.flows, one.rates, one.intervals):
            lone = alone.get(flow)
            if lone is not None and low > lone.interval[1] * (1 + CONTRADICTION):
                words = f"{flow} carries {rate:.2f} GB/s in {one.cell} but {lone.total:.2f} alone"
                raise CouldNotJudge(f"contradictory figures: {words}: measure them again, in one run")
            gpu = blank.node.gpu(flow.gpus[0]) if flow.kind == "host" else None
            line = line_rate(gpu.link) if gpu is not None else None
            if line is not None and low > line:
                words = f"{flow} carries {rate:.2f} GB/s in {one.cell}, above its link's line rate of {line:.2f}"
                raise CouldNotJudge(f"contradictory figures: {words}: wrong data, or a wrong link in the node type")
