"""Which rows may speak of a check's figures on a node, without measuring."""

from __future__ import annotations

from nearfar.measurement import AnyMetric
from nearfar.question import find
from nearfar.topology import Node
from nearfar.verdict.references import row_keys

#: A row's name -> the figures that it may speak of.
Rows = dict[str, list[AnyMetric]]


def rows(check: str, node: Node, features: frozenset[str]) -> Rows | None:
    """Every row that may speak of a figure of ``check`` on this node; None if there is no such check."""
    question = find(check)
    if question is None:
        return None
    figures: Rows = {}
    for metric in question.known_figures(node, features):
        for key in row_keys(metric):
            figures.setdefault(key, []).append(metric)
    return figures
