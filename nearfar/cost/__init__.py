"""What a wrong binding costs a program: it is run under binding schemes in alternation, and compared in pairs of runs.

Gives schemes on a node (``schemes_on``), runs under them with every rank's binding read back (``Runner``, ``measure``), and what was
measured as text, document and page. docs/guide/cost.md shows it, docs/method/cost.md says why the intervals hold.

Needs: base, topology, binding, mpi, mpi.osu, question, report, report.charts.
"""

from __future__ import annotations

from . import document, measurement_document, page, running, terminal, verdict
from .figure import TAKE, compiled, figure_of_merit
from .launchers import LAUNCHERS, Launcher, launcher
from .layouts import Job, RankPlace, bind_words
from .measured import Measured, Plan
from .measuring import measure
from .pairs import MOST_PAIRS
from .running import Runner
from .schemes import GROUPS, SCHEMES, STANDARD, Scheme, named, ranks_of, schemes_on
from .words import Subject

__all__ = [
    "GROUPS",
    "LAUNCHERS",
    "MOST_PAIRS",
    "SCHEMES",
    "STANDARD",
    "TAKE",
    "Job",
    "Launcher",
    "Measured",
    "Plan",
    "RankPlace",
    "Runner",
    "Scheme",
    "Subject",
    "bind_words",
    "compiled",
    "document",
    "figure_of_merit",
    "launcher",
    "measure",
    "measurement_document",
    "named",
    "page",
    "ranks_of",
    "running",
    "schemes_on",
    "terminal",
    "verdict",
]
