"""A check's figures as pages and terminals show them: with words, signs, bounds and how much of a run was judged.

Needs: base, topology, cells, measurement, nccl, question, verdict, verdict.thresholds.
"""

from __future__ import annotations

from . import coverage, wording
from .check_figures import Figure, figure_rows, figures, flow_words, parsed, shown_together, slug
from .kinds import FigureKind, figure_kinds, in_a_line
from .wording import SIGNS, class_words, link_words, number, numbers, percent, percents, plural, size, span, unit_words
