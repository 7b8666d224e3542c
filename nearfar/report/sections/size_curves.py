"""Bandwidth over size: a curve for each direction, with the path classes beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nearfar import cells
from nearfar.cells import Cell
from nearfar.report.charts import curves
from nearfar.report.figures import Figure, class_words, number, parsed, size

_TITLES = {
    "h2d": "Host to device",
    "d2h": "Device to host",
    "p2p": "GPU to GPU, written by the source",
    "d2d": "Within one GPU",
}


@dataclass(frozen=True)
class Line:
    """One cell's curve. ``half`` is the figure of the size with half of the largest rate."""

    name: str
    points: tuple[tuple[int, float], ...]
    half: Figure | None

    @property
    def words(self) -> str:
        """The curve's ends, and where it has half of its largest rate."""
        (least, slow), (most, fast) = self.points[0], self.points[-1]
        half = f", half of the largest at {size(self.half.value)}" if self.half and self.half.value else ""
        return f"{self.name}: {number(slow)} at {size(least)}, {number(fast)} at {size(most)}{half}"


@dataclass(frozen=True)
class SizeCurves:
    """The curves of one direction."""

    title: str
    lines: tuple[Line, ...]
    curve: Markup


def size_curves_of(figures: list[Figure], document: Mapping[str, Any]) -> list[SizeCurves]:
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
        lines = tuple(_line(cell, tuple(found), figures) for cell, found in mine.items())
        if lines:
            made.append(SizeCurves(title, lines, curves.sizes({cells.pretty(c): p for c, p in mine.items()})))
    return made


def _line(cell: Cell, points: tuple[tuple[int, float], ...], figures: list[Figure]) -> Line:
    mine = [f for f in figures if f.cell == cell]
    half = next((f for f in mine if f.derived == "half_bandwidth"), None)
    kind = class_words(mine[0].path_class) if mine else ""
    return Line(f"{cells.pretty(cell)} {kind}".strip(), points, half)
