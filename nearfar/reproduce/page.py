"""A paper as one page that needs no other file: what ``reproduce.html`` needs of published, modelled and measured figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

import nearfar
from nearfar.base import second_text
from nearfar.model.prediction import NodeType, load_node_type
from nearfar.report import title
from nearfar.report.blocks import rendered
from nearfar.report.figures import SIGNS
from nearfar.report.node_drawing import Findings, draw

from . import words
from .curves import Curve, curves
from .paper_files import Paper
from .rows_beside import RowBeside
from .strip import axis, scale_end, strip
from .this_site import ThisSite
from .unmeasured_answers import parts

#: Drawings wider than this stand alone in their line.
_WIDE = 760


@dataclass(frozen=True)
class NodeView:
    """A node drawn: what it is, and where that is from."""

    name: str
    about: str
    drawing: Markup
    here: bool

    @property
    def wide(self) -> bool:
        """Whether it needs the page's whole width."""
        match = re.search(r'viewBox="0 0 (\d+)', self.drawing)
        return match is not None and int(match[1]) > _WIDE


@dataclass(frozen=True)
class RowView:
    """A row on the page: ``end`` is the end of its figures' scale, 0 where nothing is drawn."""

    one: RowBeside
    end: float
    curves: tuple[Curve, ...]


def render(
    paper: Paper, rows: Sequence[RowBeside], site: ThisSite | None, directories: Sequence[Path], command: str
) -> str:
    """The page, one self-contained HTML document; ``command`` makes it again."""
    asked = [r for r in rows if r.row.command]
    with_figures = [r for r in asked if r.figures]
    views = [RowView(r, scale_end(r.figures), tuple(curves(r, site))) for r in with_figures]
    return rendered("reproduce.html", {
        "paper": paper, "rows": list(rows), "views": views, "site": site, "words": words, "title": title, "signs": SIGNS,
        "plain": [r for r in asked if not r.figures], "not_asked": [r for r in rows if not r.row.command],
        "in_part": [r for r in asked if r.row.lacks], "nodes": _nodes(paper, site, directories), "strip": strip, "axis": axis,
        "compared": any(figure.compared for r in rows for figure in r.figures), "command": command,
        "version": nearfar.__version__, "made": second_text(),
    })  # fmt: skip


def _nodes(paper: Paper, site: ThisSite | None, directories: Sequence[Path]) -> list[NodeView]:
    """The node types that the paper speaks of, most rows first, then this site's node."""
    names = [row.node_type for row in paper.rows if row.node_type and row.paper == paper.name]
    ordered = sorted(dict.fromkeys(names), key=lambda name: -names.count(name))
    views = [_view(load_node_type(name, directories)) for name in ordered]
    if site is not None and site.node is not None:
        about = "; ".join(filter(None, [site.node.product or "", parts(site.node)]))
        views.append(NodeView(site.name, about, draw(site.node, Findings(), "node-here"), True))
    return views


def _view(node_type: NodeType) -> NodeView:
    about = f"{node_type.description}; {parts(node_type.node)}"
    return NodeView(node_type.name, about, draw(node_type.node, Findings(), f"node-{node_type.name}"), False)
