"""Published experiments: what papers contain (``site/published/``), and each row beside the model and a run of this site.

Needs: base, topology, cells, model, verdict.
"""

from __future__ import annotations

from .beside import FigureBeside, RowBeside, as_json, beside, same_kind
from .papers import STATES, Paper, PaperRow, load_paper, papers

__all__ = [
    "STATES",
    "FigureBeside",
    "Paper",
    "PaperRow",
    "RowBeside",
    "as_json",
    "beside",
    "load_paper",
    "papers",
    "same_kind",
]
