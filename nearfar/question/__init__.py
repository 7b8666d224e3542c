"""What each check asks of a node, one file each: name, title, order, levels, program, cells, figures, and how lint sees them.

Gives ``questions()`` and what follows from it; ReFrame's classes (``checks/``), pages, lint, levels and the expected cases read it
here. A file ``NAME_check.py`` of this folder, or of a folder in it, with a ``QUESTION`` is one more check
(docs/guide/add-a-check.md): ``memory``, ``copies``, ``mpi`` and ``kernels`` have those that are alike. The sub-room
``synthetic_documents`` is loaded where figures are asked for.
ReFrame is never imported.

Needs: base, topology, cells, measurement.
"""

from __future__ import annotations

from . import binding_check, topology_check
from .catalogue import askable, asked_at, check_names, check_rank, made_by, named, questions, reframe_file, title
from .question import ACCEPT, LEVELS, NIGHTLY, QUICK, Question, of_cell, smaller_sizes

__all__ = [
    "ACCEPT",
    "LEVELS",
    "NIGHTLY",
    "QUICK",
    "Question",
    "askable",
    "asked_at",
    "binding_check",
    "check_names",
    "check_rank",
    "made_by",
    "named",
    "of_cell",
    "questions",
    "reframe_file",
    "smaller_sizes",
    "synthetic_documents",
    "title",
    "topology_check",
]
