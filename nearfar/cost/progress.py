"""One line for a run that is under way."""

from __future__ import annotations

from nearfar.base import plural

from .measured import Measured


def runs(measured: Measured) -> int:
    """Runs in all, with warm-up."""
    return sum(len(scheme.runs) for scheme in measured.schemes)


def line(measured: Measured, scheme: str, block: int, seconds: float, left: float | None) -> str:
    """One line for a run that is under way: ``wrong, run 3: 12 s; about 4 min left``."""
    which = "warm-up" if block == 0 else f"run {block}"
    remaining = (
        "" if left is None else f"; about {_about(left)} left, at most {_about(max(0.0, measured.plan.budget))} in all"
    )
    return f"{scheme}, {which}: {seconds:.0f} s ({plural(runs(measured), 'run')} made){remaining}"


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
