"""The node drawn as boxes: where each part stands, its links, and what was measured over them.

Needs: base, topology, report.charts, report.figures.
"""

from __future__ import annotations

from .drawing import draw
from .findings import Findings
