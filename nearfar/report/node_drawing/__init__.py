"""The node drawn as SVG: where each part stands, its links, and what was measured over them.

Needs: base, topology, nccl, report.charts, report.figures.
"""

from __future__ import annotations

from .drawing import draw
from .findings import Findings, UplinkRate
