"""Spack as a way to get the programs, OSU, MPI and CUDA: finding it, installing the pack's environment, what it brought.

A module here runs the ``spack`` command and reads its lock files; nothing imports Spack's own Python.
"""

from . import agreement, detected, externals, for_partition, mirror
from .found import LEAST_VERSION, Spack, find, tell_children
from .installed import Installed, InstallPlan, SpackPackage
from .installing import ensure, plan, say
from .site import folder_of, site_of

__all__ = [
    "LEAST_VERSION",
    "InstallPlan",
    "Installed",
    "Spack",
    "SpackPackage",
    "agreement",
    "detected",
    "ensure",
    "externals",
    "find",
    "folder_of",
    "for_partition",
    "mirror",
    "plan",
    "say",
    "site_of",
    "tell_children",
]
