"""Published experiments: what papers contain (``site/published/``), and each row beside the model and a run of this site.

Gives ``papers``, ``beside`` (a paper's rows with the model's answers and a run's), and these as blocks and JSON document. Nothing here
measures or judges.

Needs: base, topology, cells, measurement, model, model.prediction, model.typical, collective, binding, mpi, question, verdict,
report, report.blocks, report.charts, report.figures, report.sections.
"""

from __future__ import annotations

from . import collectives, document, documents, library, listing
from .blocks import shown
from .paper_files import STATES, Paper, PaperRow, load_paper, papers
from .rows_beside import FigureBeside, RowBeside, beside
from .this_site import ThisSite
