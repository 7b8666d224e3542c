"""Heat maps of pairs of GPUs: from the GPU of the row to that of the column."""

from __future__ import annotations

from collections.abc import Callable

from nearfar import cells
from nearfar.report.charts import MIRROR, SELF, CellGaps, Matrix, Place, cell_map
from nearfar.report.figures import Figure

#: What is asked of a pair, and the title of its map.
KINDS = {
    "write": "GPU to GPU, written by the source",
    "read": "GPU to GPU, read by the destination",
    "sm_write": "GPU to GPU, written by a kernel",
    "sm_read": "GPU to GPU, read by a kernel",
    "pair": "GPU to GPU, both directions at once",
    "staged": "GPU to GPU, peer access off",
}
_RATIO = "staged_over_direct"


def pair_of(cell: cells.Cell | None) -> tuple[str, int, int] | None:
    """(kind; source; destination) of a cell of one pair of GPUs; None for any other cell."""
    if cell is None or any(flow.kind != "peer" or flow.tasks > 1 for flow in cell.flows):
        return None
    first = cell.flows[0]
    if len(cell.flows) == 2 and cell.flows[1].gpus == first.gpus[::-1]:
        plain = not any(flow.options or flow.driver for flow in cell.flows)
        return ("pair", min(first.gpus), max(first.gpus)) if plain else None
    if not cell.lone or (first.staged and first.driver):
        return None
    way = "write" if first.driver is None else "read"
    return "staged" if first.staged else f"sm_{way}" if first.sm else way, first.gpus[0], first.gpus[1]


def peer_matrices(figures: list[Figure], why: CellGaps, gpus: list[int]) -> list[Matrix]:
    """One map for each kind that was measured or asked for. ``gpus`` are those the node has; cells may add to them."""
    rates = [f for f in figures if not f.is_ratio]
    return [m for m in (pair_map(rates, why, gpus, kind, title) for kind, title in KINDS.items()) if m]


def staged_ratios(figures: list[Figure], why: CellGaps, gpus: list[int]) -> list[Matrix]:
    """Staged over direct, where both were measured; elsewhere why one of the two was not."""
    ratios = [f for f in figures if f.derived == _RATIO]

    def nothing(a: int, b: int) -> Place:
        return why.of_ratio(_cell("write", a, b), _cell("staged", a, b))

    found = pair_map(ratios, CellGaps(), gpus, "staged", "Staged ÷ direct", nothing)
    return [found] if found else []


def pair_map(figures: list[Figure], why: CellGaps, gpus: list[int], kind: str, title: str,
             without: Callable[[int, int], Place] | None = None) -> Matrix | None:  # fmt: skip
    """GPU × GPU of one kind of cell; None where none was asked for.

    ``without`` says what stands at a pair without a figure (default: what ``why`` says of its cell).
    """

    def ends(cell: cells.Cell) -> tuple[int, int] | None:
        place = pair_of(cell)
        return place[1:] if place is not None and place[0] == kind else None

    def cell(a: int, b: int) -> cells.Cell:
        return _cell(kind, a, b)

    def nothing(a: int, b: int) -> Place:
        if a == b:
            return Place(SELF, reason="a GPU and itself are no pair")
        if kind == "pair" and a > b:
            return Place(MIRROR, reason=f"both directions stand at GPU {b}, GPU {a}")
        return without(a, b) if without else why.place(cell(a, b))

    return cell_map(kind, title, figures, why, ends, cell, "gg", gpus, gpus, nothing)


def _cell(kind: str, a: int, b: int) -> cells.Cell:
    flow = f"g{a}:g{b}"
    read = f"{flow}@g{b}"
    texts = {"write": flow, "read": read, "sm_write": f"{flow}/sm", "sm_read": f"{read}/sm",
             "pair": f"{flow}+g{b}:g{a}", "staged": f"{flow}/staged"}  # fmt: skip
    return cells.parse(texts[kind])
