"""Which of the site's partitions a node of a Slurm partition is of."""

from __future__ import annotations

import os
import re

from nearfar.base import NearfarError
from nearfar.site import Partition, System, systems

_ACCESS = re.compile(r"^(?:-p\s*|--partition[=\s]\s*)(\S+)$")


def system_of(node: str) -> System | None:
    """The system that a node is of: this host may be of none."""
    known = systems.load_all()
    named = os.environ.get("NEARFAR_SYSTEM")
    return known.get(named) if named else systems.claims(node, None, known)


def refuse_unknown(wanted: str, node: str) -> None:
    """Raise ``NearfarError`` for a partition that the site's file of a node's system does not have, before any job is told of
    it; where no file names the node, the jobs find out."""
    system = system_of(node)
    if system is not None and wanted not in system.partitions:
        raise NearfarError(
            f"--site-partition {wanted}: system '{system.name}' has no such partition; it has {', '.join(system.partitions)}"
        )


def choose(system: System, slurm: str | None) -> str:
    """The site's partition for nodes of Slurm's partition ``slurm``: whose ``access`` names it, whose name it is, or the only
    one. Modelled partitions are never it. Raises ``NearfarError`` where that leaves none, or several."""
    real = {name: partition for name, partition in system.partitions.items() if not partition.modelled}
    for found in (
        [n for n, p in real.items() if slurm and slurm in _accessed(p)],
        [n for n in real if n == slurm],
        real,
    ):
        if len(found) == 1:
            return next(iter(found))
    if not real:
        raise NearfarError(f"system '{system.name}' has modelled partitions alone: there is no node of it to measure")
    raise NearfarError(
        f"system '{system.name}' has the partitions {', '.join(real)}, and none of them names Slurm's '{slurm}' in its "
        "access; name one: --site-partition NAME"
    )


def _accessed(partition: Partition) -> set[str]:
    """Slurm's partitions that a partition's ``access`` options name."""
    options = [str(option).strip() for option in partition.reframe.get("access", [])]
    return {name for option in options if (match := _ACCESS.match(option)) for name in match[1].split(",")}
