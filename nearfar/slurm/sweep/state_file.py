"""A sweep's own file, ``sweep.json``: what was asked, and how far each node has come; with it a sweep resumes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, write_atomically

SCHEMA = "nearfar-sweep/1"
FILE = "sweep.json"
#: What a plan has had since the first version.
_LATER = ("no_pairs",)
#: How a nightly job ends that made way for others, or never had its turn.
_MADE_WAY = ("waiting", "busy", "PREEMPTED", "DEADLINE")


@dataclass(frozen=True)
class SweepPlan:
    """What is asked of which nodes. ``deadline`` is in seconds since 1970; ``gres`` is by node, as sbatch takes it;
    ``options`` are sbatch's own, of the whole sweep. ``idle_only``: a nightly run, which takes idle nodes alone and makes
    way; ``left_out`` says why it does not even try a node of the partition. ``mpi_pairs``: MPI between nodes follows, in
    sweeps that are ``part_of`` this one; ``no_pairs`` says why it does not though it might."""

    sweep: str
    pack: str
    partition: str
    nodes: tuple[str, ...]
    gres: dict[str, str]
    minutes: int
    window: int
    started: float
    deadline: float
    reservation: str | None = None
    site_partition: str | None = None
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    idle_only: bool = False
    left_out: dict[str, str] = field(default_factory=dict)
    part_of: str | None = None
    mpi_pairs: bool = False
    no_pairs: str = ""

    @property
    def job_name(self) -> str:
        """What all its jobs are called: ``scancel --name`` takes it."""
        return f"nearfar-{f'{self.part_of}.' if self.part_of else ''}{self.sweep}"


@dataclass(eq=False)
class SweepJob:
    """How far a node has come. ``state`` is Slurm's word about its job; ``waiting`` and ``refused`` where it has none.

    ``pair``: two nodes that are measured together, which ``node`` is then the name of. ``ended``: nothing more comes of
    this attempt. ``has_result``: a result was renamed into place; ``interrupted``: of a job that Slurm ended early.
    """

    node: str
    attempt: int = 1
    job: int | None = None
    state: str = "waiting"
    reason: str = ""
    ended: bool = False
    has_result: bool = False
    interrupted: bool = False
    pair: tuple[str, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The nodes that its job is for."""
        return self.pair or (self.node,)

    @property
    def outstanding(self) -> bool:
        """It has a job that may still leave a result."""
        return self.job is not None and not self.ended

    @property
    def made_way(self) -> bool:
        """Its node was wanted by others: in a nightly run that is no finding."""
        return self.ended and self.state in _MADE_WAY and (self.interrupted or not self.has_result)


@dataclass
class SweepState:
    """The plan and the tasks by node, as kept in ``folder``."""

    folder: Path
    plan: SweepPlan
    tasks: dict[str, SweepJob]

    def save(self) -> None:
        """Write it, whole or not at all. Raises ``CouldNotJudge`` (full disk, read-only)."""
        plan = asdict(self.plan)
        document = {"schema": SCHEMA, **plan, "tasks": [asdict(task) for task in self.tasks.values()]}
        text = json.dumps(document, indent=1) + "\n"
        # `act` reads it, maybe as another user, and believes what only its owner can change.
        write_atomically(self.folder / FILE, text, "name another --results DIR", mode=0o644)


def load(folder: Path) -> SweepState:
    """The journal of a sweep. Raises ``NearfarError`` where there is none, ``CouldNotJudge`` for half a file."""
    path = folder / FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NearfarError(f"{path}: no such sweep; its name is a directory of the results directory") from None
    except (OSError, ValueError) as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error}") from None
    return parse(folder, raw)


def parse(folder: Path, raw: Any) -> SweepState:
    """The journal that a ``sweep.json`` holds. Raises ``CouldNotJudge`` for another document."""
    path = folder / FILE
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        raise CouldNotJudge(f"{path}: expected schema {SCHEMA}; this file is not a sweep's")
    try:
        # What an earlier version did not write has its default.
        given = [f.name for f in fields(SweepPlan) if f.name in raw or f.name not in _LATER]
        plan = SweepPlan(**{name: _tuple(raw[name]) for name in given})
        tasks = [SweepJob(**{f.name: _tuple(entry[f.name]) for f in fields(SweepJob)}) for entry in raw["tasks"]]
    except (KeyError, TypeError) as error:
        raise CouldNotJudge(f"{path}: {error} is missing or wrong; the file was changed") from None
    return SweepState(folder, plan, {task.node: task for task in tasks})


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
