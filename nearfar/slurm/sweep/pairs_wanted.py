"""Whether MPI between nodes follows a sweep: asked for, or as the level and the site's partition have it."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import NearfarError

from . import site_partition
from .levels import LEVELS

#: What a partition of the site's file has where MPI between its nodes is to be measured.
FEATURES = ("mpi", "two_nodes")


def reason_against(
    asked: bool | None, level: str, nodes: Sequence[str], partition: str, wanted: str | None
) -> str | None:
    """Why no pairs of nodes are measured after a sweep with ``level``; None where they are, empty where nobody expects them.

    ``asked``: what the user says, None for as it should be. ``partition`` is Slurm's, ``wanted`` the site's where the user
    names it.
    """
    if asked is False or (asked is None and not LEVELS[level].pairs):
        return ""
    if len(nodes) < 2:
        return "one node alone"
    return None if asked else _lacks(nodes, partition, wanted)


def _lacks(nodes: Sequence[str], partition: str, wanted: str | None) -> str | None:
    """What the site's file lacks for it."""
    system = site_partition.system_of(nodes[0])
    if system is None:
        return f"no system file names {nodes[0]} under hosts; --mpi-pairs measures it all the same"
    try:
        name = wanted or site_partition.choose(system, partition)
    except NearfarError as error:
        return str(error)
    if name not in system.partitions:
        return f"system '{system.name}' has no partition '{name}'"
    lacking = [feature for feature in FEATURES if feature not in system.partitions[name].features]
    if lacking:
        plural = "s" if len(lacking) > 1 else ""
        return f"{system.name}:{name} lacks the feature{plural} {' and '.join(lacking)} in the site's file (docs/method/mpi.md)"
    return None
