"""What each check asks of a node, one file per check: title, program, cells, figures, levels, and how pages and lint show them.

``catalogue.NAMES`` lists them, ``questions()`` reads them; ReFrame's classes (``checks/``), pages, lint, levels and the expected
cases follow from it. To add a check, write its file and its class and add its name: docs/extend.md.
ReFrame is never imported.

Needs: base, topology, cells, measurement, kernels, model, model.prediction, mpi, mpi.osu, nccl.
"""

from __future__ import annotations

from . import messages, of_other_tools
from .catalogue import (
    askable,
    asked_at,
    between_nodes,
    check_names,
    check_rank,
    covering_health,
    find,
    named,
    questions,
)
from .judged_facts import judged_elsewhere, judged_elsewhere_by_parts
from .question import ACCEPT, CELLS, LEVELS, NIGHTLY, OSU, OWN, QUICK, SHARED_RUN, Question

#: Modules that only those load who need them.
__all__ = ["synthetic_documents"]
