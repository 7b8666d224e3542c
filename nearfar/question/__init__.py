"""What each check asks of a node, one file per check: title, program, cells, figures, levels, and how pages and lint show them.

``QUESTIONS`` is the catalogue (``catalogue.py``). ReFrame's classes (``checks/``), pages, lint, levels and the expected cases read it.
To add a check, write its file, add it to the catalogue, and write its class: docs/guide/add-a-check.md.
ReFrame is never imported.

Needs: base, topology, cells, measurement, kernels, model, model.prediction, mpi, mpi.osu.
"""

from __future__ import annotations

from . import synthetic_documents, topology_check
from .catalogue import QUESTIONS, askable, asked_at, check_names, check_rank, find, named
from .question import ACCEPT, LEVELS, NIGHTLY, OSU, OWN, QUICK, Question, of_cell

__all__ = [
    "ACCEPT",
    "LEVELS",
    "NIGHTLY",
    "OSU",
    "OWN",
    "QUESTIONS",
    "QUICK",
    "Question",
    "askable",
    "asked_at",
    "check_names",
    "check_rank",
    "find",
    "named",
    "of_cell",
    "synthetic_documents",
    "topology_check",
]
