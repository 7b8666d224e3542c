"""Bandwidth over size: a curve for each direction, with the path classes beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar import cells
from nearfar.cells import Cell
from nearfar.report.blocks import Chart
from nearfar.report.charts import CurveLine, over_sizes
from nearfar.report.figures import Figure, class_words, number, parsed, size

_TITLES = {
    "h2d": "Host to device",
    "d2h": "Device to host",
    "p2p": "GPU to GPU, written by the source",
    "d2d": "Within one GPU",
}


def curves_over_size(figures: list[Figure], document: Mapping[str, Any]) -> list[Chart]:
    """The curves of the cells that were measured at several sizes."""
    points: dict[Cell, list[tuple[int, float]]] = {}
    for result in document.get("results", []):
        cell, bytes_, flows = parsed(result.get("cell")), result.get("bytes"), result.get("flows") or []
        if cell is not None and cell.lone and result.get("quantity") == "copy" and isinstance(bytes_, int) and flows:
            rate = flows[0]["rate"]
            points.setdefault(cell, []).append((bytes_, float(rate.get("plateau", rate["median"]))))
    made = []
    for direction, title in _TITLES.items():
        mine = {c: sorted(p) for c, p in points.items() if len(p) > 1 and c.flows[0].direction == direction}
        if mine:
            named = [(cells.pretty(cell), tuple(at)) for cell, at in mine.items()]
            lines = [CurveLine(name, name, style, at) for style, (name, at) in enumerate(named)]
            drawing = over_sizes(lines, "GB/s", "Rate over the size of a transfer", "a transfer", False)
            made.append(Chart(drawing, title, notes=tuple(_words(cell, at, figures) for cell, at in mine.items())))
    return made


def _words(cell: Cell, points: Sequence[tuple[int, float]], figures: list[Figure]) -> str:
    """The curve's ends, and where it has half of its largest rate."""
    mine = [f for f in figures if f.cell == cell]
    half = next((f.value for f in mine if f.derived == "half_bandwidth" and f.value), None)
    name = f"{cells.pretty(cell)} {class_words(mine[0].path_class)}" if mine else cells.pretty(cell)
    (least, slow), (most, fast) = points[0], points[-1]
    more = f", half of the largest at {size(half)}" if half else ""
    return f"{name}: {number(slow)} at {size(least)}, {number(fast)} at {size(most)}{more}"
