"""What a wrong binding costs a program: it is run under binding schemes in alternation, and compared in pairs of runs.

Gives schemes on a node (``schemes_on``), runs under them with every rank's binding read back (``Runner``, ``measure``), and what was
measured as text, document and page. docs/use.md shows it, benchmarks/studies/cost.md says why the intervals hold.

Needs: base, topology, measurement, binding, mpi, mpi.osu, report.blocks, report.charts, report.figures.
"""

from __future__ import annotations

from . import document, running
from .blocks import shown
from .case_folder import CaseFolder, made_ready
from .figure import TAKE, figure_of_merit
from .launchers import launcher
from .measured import Measured, Plan
from .measuring import measure
from .pairs import MOST_PAIRS
from .running import Runner
from .schemes import Job, Scheme, bind_words, schemes_on
from .words import Subject, progress
