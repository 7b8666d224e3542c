"""The node drawn as SVG: where each part stands, its links, and what was measured over them.

Needs: topology, report.figures, report.charts.
"""

from __future__ import annotations

from .drawing import Findings, Lane, draw

__all__ = [
    "Findings",
    "Lane",
    "draw",
]
