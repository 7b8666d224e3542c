"""Spack as a way to get the programs, OSU, MPI and CUDA.

``find`` the ``spack`` program, ``solve`` the pack's environment for a partition, ``install`` it; ``externals`` writes down what the
machine has. Only the ``spack`` command and its lock files are used, nothing of Spack's own Python.

Needs: base, verdict, site.
"""

from . import externals
from .environment import SpackEnvironment, install, solve
from .program import Spack, find
