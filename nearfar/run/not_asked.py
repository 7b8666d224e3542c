"""The questions that a run would have asked a machine, had it the programs that they take: said, and no verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nearfar.question import ACCEPT, Question, asked_at
from nearfar.site import System

#: What a feature of a partition says that its nodes have, of those that ``nearfar detect`` cannot see.
SAYS = {"ranks": "an MPI", "mpi": "the OSU benchmarks with an MPI", "nccl": "nccl-tests"}


def brought(system: str, partition: str, features: Sequence[str]) -> list[str]:
    """Lines that name the checks a partition is not asked for want of a feature of MPI, and the line of the system's file that
    brings them. The second's line has the first's feature too: what has the benchmarks has an MPI."""
    lines, having = [], list(features)
    for feature, requirement in SAYS.items():
        names = [check.name for check in asked_at(ACCEPT) if check.lacks(system, partition, having, (feature,))]
        having.append(feature)
        if names:
            lines.append(f"not run: {', '.join(names)}; where the nodes have {requirement}, this line of the partition '{partition}' "
                         f"brings {'it' if len(names) == 1 else 'them'}: features: [{', '.join(having)}]")  # fmt: skip
    return lines


def entries(checks: Iterable[Question], system: System) -> list[dict[str, Any]]:
    """For ``run.json``: each such check with its title, why it was not asked and what brings what is missing.

    Of a system that a file describes there are none: the file says by its features what it asks for.
    """
    return [
        {"check": check.name, "title": check.title, "reason": "; ".join(reasons), "remedy": check.remedy}
        for check in checks
        if (reasons := _lacking(check, system))
    ]


def _lacking(check: Question, system: System) -> list[str]:
    """Why no partition is asked, where programs alone are missing."""
    real = [partition for partition in system.partitions.values() if not partition.modelled]
    if any(check.fits(system.name, partition.name, partition.features) for partition in real):
        return []
    missing = (check.lacks(system.name, p.name, p.features, system.lacks) for p in real)
    return [system.lacks[feature] for feature in next(filter(None, missing), ())]
