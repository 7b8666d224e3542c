"""The measured cells of a document: each flow's rate and the total, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.cells import Cell
from nearfar.measurement import CELL_QUANTITIES, Document, Rate, Result

#: Rates of other units are no bandwidths.
UNIT = "GB/s"


@dataclass(frozen=True)
class MeasuredCell:
    """One cell: ``rates`` in the order of its flows and ``total`` in GB/s, (low, high) intervals of 95 % for each."""

    cell: Cell
    rates: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    total: float
    interval: tuple[float, float]


def measured_cells(document: Document, alone: bool = False) -> list[MeasuredCell]:
    """The document's bandwidths of cells, in its order; of a cell at several sizes the largest, nothing unverified.

    ``alone``: without cells that a quick look measured beside others. These share nothing with each other, and have
    what they have alone but for half a per cent: near enough to find a fault by, not to make a capacity of.
    """
    cells = (
        _measured(cell, r) for cell, r in _chosen(document).items() if not (alone and _in_quick_company(document, r))
    )
    return [measured for measured in cells if measured is not None]


def beside_others(document: Document) -> list[Cell]:
    """The cells whose figures are of a quick look's windows with others."""
    return [cell for cell, result in _chosen(document).items() if _in_quick_company(document, result)]


def _in_quick_company(document: Document, result: Result) -> bool:
    """In rounds of visits what loses in company is measured alone; a quick look has one short window."""
    return bool(result.beside and document.raw["program"].get("quick"))


def _chosen(document: Document) -> dict[Cell, Result]:
    chosen: dict[Cell, Result] = {}
    for result in document.results:
        if (
            result.cell is not None
            and result.quantity in CELL_QUANTITIES
            and result.verified is not False
            and not best_case(result)
        ):
            known = chosen.get(result.cell)
            if known is None or (result.bytes or 0) > (known.bytes or 0):
                chosen[result.cell] = result
    return chosen


def best_case(result: Result) -> bool:
    """Whether something that nobody knows may hold the cell of a modelled document further back."""
    return result.basis in ("upper bound", "nominal")


def _measured(cell: Cell, result: Result) -> MeasuredCell | None:
    by_flow = {flow.flow: flow.rate for flow in result.flows}
    rates = [by_flow[flow] for flow in cell.flows]
    everything: Sequence[Rate] = rates if result.total is None else [*rates, result.total]
    if any(rate.unit != UNIT or rate.median <= 0 for rate in everything):
        return None
    total = result.total or rates[0]
    # Of flows that take turns at the larger share the medians do not add up to the total's.
    part = total.median / sum(rate.median for rate in rates)
    return MeasuredCell(
        cell,
        tuple(part * rate.median for rate in rates),
        tuple((part * low, part * high) for low, high in map(_interval, rates)),
        total.median,
        _interval(total),
    )


def _interval(rate: Rate) -> tuple[float, float]:
    return rate.ci or (rate.median, rate.median)
