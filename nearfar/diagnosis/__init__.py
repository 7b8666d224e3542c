"""Which degraded parts explain a node's slow figures (docs/diagnosis.md)."""

from __future__ import annotations

from .cells import telling_cells
from .diagnose import Bad, Blame, Diagnosis, diagnose
from .parts import Part, parts_of

__all__ = ["Bad", "Blame", "Diagnosis", "Part", "diagnose", "parts_of", "telling_cells"]
