"""Published experiments: what papers contain (``site/published/``), and each row beside the model and a run of this site.

Needs: base, cells, model.prediction, verdict.
"""

from __future__ import annotations

from .paper_files import STATES, Paper, PaperRow, load_paper, papers
from .rows_beside import FigureBeside, RowBeside, as_json, beside, same_kind

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
