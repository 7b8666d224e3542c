"""OSU Micro-Benchmarks: what they print, where the ranks sit, and the measurement document that comes of it.

Needs: base, topology, cells, measurement, binding, mpi.
"""

from . import bindings, disturbances, hosts, installed, launch, mpi_figures, subjects, table
from .benchmarks import BENCHMARKS
from .installed import INSTALL, INSTALL_MPI
from .measured_cases import CLOSE, agree, rate
from .measuring import Interrupted, Options, measure
from .mpi_figures import LARGE, MIDDLE, SMALL, figures
from .subjects import MpiCase, cases, parse
