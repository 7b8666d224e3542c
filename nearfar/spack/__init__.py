"""Spack as a way to get the programs, OSU, MPI and CUDA: finding it, installing the pack's environment, what it brought.

A module here runs the ``spack`` command and reads its lock files; nothing imports Spack's own Python.
"""

from nearfar.spack.ensure import ensure, plan
from nearfar.spack.found import LEAST_VERSION, Spack, find, tell_children
from nearfar.spack.installed import Installed, Package, Plan
from nearfar.spack.site import folder_of, site_of

__all__ = [
    "LEAST_VERSION",
    "Installed",
    "Package",
    "Plan",
    "Spack",
    "ensure",
    "find",
    "folder_of",
    "plan",
    "site_of",
    "tell_children",
]
