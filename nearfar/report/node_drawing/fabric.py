"""The links between GPUs on the drawing: one bar where every pair has the same, an arc for each link where they are few."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from nearfar.report.charts import element, text
from nearfar.report.figures import numbers
from nearfar.topology import OWN_LINKS, Node

from .arrangement import RowSide
from .findings import Findings, marked

#: Where the links of fabrics stand: their height below or above a row of GPUs.
FABRIC_HEIGHT = 54
_MOST_ARCS = 16
_RING_DEPTH = 18


@dataclass(frozen=True)
class Places:
    """Where GPUs stand: each one's (x, row) in ``centre``, the outer edge of each row in ``edges``, its side in ``sides``.
    ``findings`` mark links."""

    centre: Mapping[int, tuple[float, int]]
    edges: Sequence[float]
    sides: Sequence[RowSide]
    findings: Findings


def draw_fabric(root: ET.Element, node: Node, places: Places, facing: bool) -> None:
    """The links between GPUs below ``root``, those that are blamed marked. ``facing``: two rows of GPUs face each other."""
    drawn = set(places.centre)
    links = {pair: link for pair, link in node.peers.items() if link.startswith(OWN_LINKS) and set(pair) <= drawn}
    for members in _components(links):
        mine = {pair: link for pair, link in links.items() if pair[0] in members}
        rows = {places.centre[g][1] for g in members}
        if len(rows) > 1 and not facing:
            continue
        every_pair = len(mine) == len(members) * (len(members) - 1) // 2
        if len(members) > 2 and every_pair and len(set(mine.values())) == 1:
            _bar(root, node, places, sorted(members), next(iter(mine.values())))
        elif len(mine) <= _MOST_ARCS and len(rows) == 1:
            _arcs(root, places, mine, rows.pop())


def draw_ring(root: ET.Element, places: Places) -> None:
    """NCCL's ring through the GPUs, the hops that limit it with how they are sent."""
    for hop in places.findings.ring:
        if not {hop.source, hop.sink} <= set(places.centre):
            continue
        (xa, row_a), (xb, row_b) = places.centre[hop.source], places.centre[hop.sink]
        ya, yb = places.edges[row_a], places.edges[row_b]
        title = element("title", f"NCCL's ring, {hop.words}")
        group = element("g", title, class_="ring limit" if hop.limiting else "ring")
        bent = f"C{xa:.1f} {ya + places.sides[row_a].way * _RING_DEPTH:.1f} {xb:.1f} {yb + places.sides[row_b].way * _RING_DEPTH:.1f}"
        group.append(element("path", d=f"M{xa:.1f} {ya:.1f} {bent} {xb:.1f} {yb:.1f}"))
        if hop.limiting:
            below = (ya + yb) / 2 + (places.sides[row_a].way * (_RING_DEPTH + 6) if row_a == row_b else 0)
            group.append(text((xa + xb) / 2, below, hop.transport or hop.link, "small limit", "middle"))
        root.append(group)


def _bar(root: ET.Element, node: Node, places: Places, members: list[int], link: str) -> None:
    centres = [places.centre[g][0] for g in members]
    rows = sorted({places.centre[g][1] for g in members})
    edge, way = places.edges[rows[0]], places.sides[rows[0]].way
    middle = (edge + places.edges[rows[1]]) / 2 if len(rows) == 2 else edge + way * 33
    generation = next((g.nvlink_generation for g in node.gpus if g.index in members and g.nvlink_generation), None)
    name = "xGMI" if link == "XGMI" else f"NVLink{f' {generation}' if generation else ''}: {link}"
    words = f"{name} between every pair of GPUs {numbers(members)}"
    blamed = [(f"GPU {a} ↔ GPU {b}", places.findings.mark(f"g{a}-g{b}")) for a, b in combinations(members, 2)]
    marks = [mark for _, mark in blamed if mark]
    told = "".join(f", {marked(pair, mark)}" for pair, mark in blamed if mark)
    group = element("g", element("title", words), class_=" ".join(["fabric", *marks[:1]]))
    for gpu, x in zip(members, centres):
        edge = places.edges[places.centre[gpu][1]]
        group.append(element("line", x1=x, x2=x, y1=edge, y2=middle + (-11 if edge < middle else 11)))
    low, high = min(centres) - 30, max(centres) + 30
    group.append(element("rect", x=low, y=middle - 11, width=high - low, height=22, rx=5))
    short = f"{words}{told}" if high - low > 6.4 * len(words + told) else f"{link}{told or ', every pair'}"
    group.append(text((low + high) / 2, middle + 4, short, "small", "middle"))
    root.append(group)


def _arcs(root: ET.Element, places: Places, links: dict[tuple[int, int], str], row: int) -> None:
    y, way = places.edges[row], places.sides[row].way
    for (a, b), link in sorted(links.items()):
        xa, xb = places.centre[a][0], places.centre[b][0]
        depth = way * min(FABRIC_HEIGHT - 14, 14 + abs(xb - xa) / 14)
        mark = places.findings.mark(f"g{a}-g{b}")
        group = element("g", element("title", f"GPU {a} and GPU {b}: {link}"), class_=f"fabric arc {mark}".strip())
        path = f"M{xa:.1f} {y:.1f} C{xa:.1f} {y + depth:.1f} {xb:.1f} {y + depth:.1f} {xb:.1f} {y:.1f}"
        group.append(element("path", d=path))
        below = y + depth * 0.75 + (11 if way > 0 else -3)
        group.append(text((xa + xb) / 2, below, marked(link, mark), "small", "middle"))
        root.append(group)


def _components(links: Iterable[tuple[int, int]]) -> list[set[int]]:
    found: list[set[int]] = []
    for pair in links:
        touching = [group for group in found if group & set(pair)]
        found = [group for group in found if group not in touching] + [set(pair).union(*touching)]
    return found
