"""Which degraded parts explain a node's slow figures (docs/diagnosis.md)."""

from __future__ import annotations

from .cells import telling_cells
from .diagnose import Bad, Blame, Diagnosis, diagnose
from .gaps import Gaps, gaps_of
from .healthy import Healthy, from_reference
from .parts import Part, parts_of
from .told import ORIGINS, as_json, cells_words, sentence

__all__ = [
    "ORIGINS",
    "Bad",
    "Blame",
    "Diagnosis",
    "Gaps",
    "Healthy",
    "Part",
    "as_json",
    "cells_words",
    "diagnose",
    "from_reference",
    "gaps_of",
    "parts_of",
    "sentence",
    "telling_cells",
]
