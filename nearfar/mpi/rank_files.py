"""What ``rank.py`` takes and leaves: the plan of a run, and the lines of each of its ranks."""

from __future__ import annotations

import ast
import marshal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import places
from nearfar.binding import launchers

from .rank import WATCHER

__all__ = ["WATCHER", "RankPlan", "ended", "lines_of", "wrapper", "write_plan"]


@dataclass(frozen=True)
class RankPlan:
    """Where a rank goes. ``cpus`` None: wherever the launcher has put it; ``policy`` (``bind``, ``interleave``, None: none) for the NUMA
    nodes ``memory``, without which it does not run where it ``must``; ``environment`` is what it has beside the launcher's."""

    cpus: tuple[int, ...] | None = None
    policy: str | None = None
    memory: tuple[int, ...] = ()
    must: bool = True
    environment: dict[str, str] = field(default_factory=dict)


def write_plan(
    path: Path,
    ranks: Sequence[RankPlan],
    looks: tuple[float, float],
    family: bool = False,
    lone: bool = False,
    probe: bool = False,
) -> None:
    """Tell the wrapper where each rank goes. ``looks``: seconds between two looks at a program that is as bound, and at one that is
    elsewhere; ``family``: at all that it starts; ``lone``: no launcher; ``probe``: without the program. As the interpreter's own bytes: to
    import a JSON parser is half of what the wrapper would take."""
    planned = [
        {
            "cpus": None if rank.cpus is None else list(rank.cpus), "policy": rank.policy, "memory": list(rank.memory), "must": rank.must,
            "environment": dict(rank.environment),
        }
        for rank in ranks
    ]  # fmt: skip
    plan = {
        "variables": launchers.rank_variables(),
        "lone": lone,
        "probe": probe,
        "family": family,
        "looks": looks,
        "ranks": planned,
    }
    path.write_bytes(marshal.dumps(plan))


def wrapper(plan: Path) -> list[str]:
    """The words that a launcher starts in place of the program, before it."""
    return [sys.executable, "-I", "-S", str(places.MPI_RANK), str(plan)]


def lines_of(plan: Path, rank: int) -> list[dict[str, Any]]:
    """What a rank has written so far; nothing where it never began."""
    try:
        text = Path(f"{plan}.{rank}").read_text(encoding="utf-8")
    except OSError:
        return []
    return [ast.literal_eval(line) for line in text.splitlines() if line.endswith("}")]


def ended(lines: Sequence[dict[str, Any]]) -> bool:
    """Whether a rank has nothing more to write: its watcher has seen its end, or it never began."""
    return not lines or any("ended" in line or "unbound" in line for line in lines)
