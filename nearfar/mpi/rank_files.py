"""What ``rank.py`` takes and leaves: the plan of a run, and the lines of each of its ranks."""

from __future__ import annotations

import ast
import marshal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import places
from nearfar.binding import launchers

#: Lines with these are a rank's last: its watcher has seen its end, or it never began.
_LAST = {"ended", "unbound"}
#: GPUs are numbered as NVML and hwloc number them.
_VISIBLE = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
_KEPT = ("host", "pid", "policy", "memory_allowed", "gpus", "waited", "unbound")


@dataclass(frozen=True)
class RankPlan:
    """Where a rank goes. ``cpus`` None: wherever the launcher has put it; ``policy`` (``bind``, ``interleave``, None: none) for the NUMA
    nodes ``memory``, without which it does not run where it ``must``; ``gpus``: the value of CUDA_VISIBLE_DEVICES (None: left alone),
    ``environment`` what else it has beside the launcher's."""

    cpus: tuple[int, ...] | None = None
    policy: str | None = None
    memory: tuple[int, ...] = ()
    must: bool = True
    gpus: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RankAccount:
    """What one rank wrote down."""

    rank: int
    host: str = ""
    pid: int | None = None
    #: In effect before the program began: its CPUs, the memory policy and its NUMA nodes, and those that the cpuset allows.
    cpus: tuple[int, ...] = ()
    policy: str = ""
    memory: tuple[int, ...] = ()
    memory_allowed: str = ""
    #: The value of CUDA_VISIBLE_DEVICES; None: it had none.
    gpus: str | None = None
    #: The CPUs that the program had when it was last looked at; empty: it ended before a look.
    running: tuple[int, ...] = ()
    #: When it ended, in seconds since 1970, and for which part of its time others had its core.
    ended: float | None = None
    waited: float | None = None
    #: Why it did not run.
    unbound: str | None = None

    @property
    def moved(self) -> bool:
        """Whether the program left the CPUs that it was given, as one that binds itself does."""
        return not set(self.running) <= set(self.cpus)

    @property
    def narrowed(self) -> bool:
        """Whether the program bound itself to fewer of the CPUs that it was given."""
        return bool(self.running) and set(self.running) < set(self.cpus)


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
            "environment": {**({} if rank.gpus is None else _VISIBLE | {"CUDA_VISIBLE_DEVICES": rank.gpus}), **rank.environment},
        }
        for rank in ranks
    ]  # fmt: skip
    how = {"variables": launchers.rank_variables(), "lone": lone, "probe": probe, "family": family, "looks": looks}
    path.write_bytes(marshal.dumps({**how, "ranks": planned}))


def wrapper(plan: Path) -> list[str]:
    """The words that a launcher starts in place of the program, before it."""
    return [sys.executable, "-I", "-S", str(places.MPI_RANK), str(plan)]


def accounts(plan: Path, ranks: int, wait: float) -> tuple[RankAccount, ...]:
    """What the ranks of a plan wrote down; at most ``wait`` seconds after the end of those that began, which their watchers tell of."""
    until = time.monotonic() + wait
    while True:
        written = [_lines_of(plan, rank) for rank in range(ranks)]
        if time.monotonic() >= until or all(
            not lines or any(_LAST & line.keys() for line in lines) for lines in written
        ):
            return tuple(_account(rank, lines) for rank, lines in enumerate(written))
        time.sleep(0.005)


def _lines_of(plan: Path, rank: int) -> list[dict[str, Any]]:
    """What a rank has written so far; nothing where it never began."""
    try:
        text = Path(f"{plan}.{rank}").read_text(encoding="utf-8")
    except OSError:
        return []
    return [ast.literal_eval(line) for line in text.splitlines() if line.endswith("}")]


def _account(rank: int, lines: Sequence[dict[str, Any]]) -> RankAccount:
    known = {key: value for line in lines for key, value in line.items()}  # of several looks the last counts
    fields: dict[str, Any] = {key: tuple(known.get(key) or ()) for key in ("cpus", "memory", "running")}
    fields.update({key: known[key] for key in _KEPT if known.get(key) is not None})
    return RankAccount(rank, ended=known["time"] if known.get("ended") else None, **fields)
