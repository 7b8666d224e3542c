"""The questions that a run would have asked this machine, had it the programs that they take: said, and no verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nearfar.question import Question
from nearfar.site import System


def entries(checks: Iterable[Question], system: System) -> list[dict[str, Any]]:
    """For ``run.json``: each such check with its title, why it was not asked and what brings what is missing.

    Of a system that a file describes there are none: the file says by its features what it asks for.
    """
    return [
        {"check": check.name, "title": check.title, "reason": "; ".join(words), "remedy": check.remedy}
        for check in checks
        if check.readable and (words := _lacking(check, system))
    ]


def _lacking(check: Question, system: System) -> list[str]:
    """Why no partition is asked, where programs alone are missing."""
    real = [partition for partition in system.partitions.values() if not partition.modelled]
    if any(check.fits(system.name, partition.name, partition.features) for partition in real):
        return []
    missing = (check.lacks(system.name, p.name, p.features, system.lacks) for p in real)
    return [system.lacks[feature] for feature in next(filter(None, missing), ())]
