"""What a wrong binding costs a program: it is run under binding schemes in alternation, and compared in pairs of runs.

Gives schemes on a node (``schemes_on``), runs under them with every rank's binding read back (``Runner``, ``measure``), and what was
measured as text, document and page. docs/guide/cost.md shows it, docs/method/cost.md says why the intervals hold.

Needs: base, topology, binding, mpi, mpi.osu.
"""

from __future__ import annotations

from . import terminal, verdict
from .figure import TAKE, compiled, figure_of_merit
from .launchers import LAUNCHERS, Launcher, launcher
from .layouts import Job, bind_words
from .measuring import Measured, Plan, measure
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
    "Runner",
    "Scheme",
    "Subject",
    "bind_words",
    "compiled",
    "figure_of_merit",
    "launcher",
    "measure",
    "named",
    "ranks_of",
    "schemes_on",
    "terminal",
    "verdict",
]
