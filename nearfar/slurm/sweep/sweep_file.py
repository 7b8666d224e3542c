"""A sweep, its level and jobs, and its own file, ``sweep.json``: what is measured where. How far it has come is what its jobs have left."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, files
from nearfar.question import NIGHTLY, OSU, OWN, asked_at, between_nodes
from nearfar.slurm.results import joined, parted, result, results_directory


@dataclass(frozen=True)
class Level:
    """``asks``: the checks of a level of the questions; ``between_nodes``: those between two nodes. ``minutes``: a job's time limit
    unless the caller names one; ``hours``: how long after the sweep began a job may still start and end."""

    words: str
    minutes: int
    hours: int
    acceptance: bool = False
    quick: bool = False
    asks: str = ""
    between_nodes: bool = False

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that it asks; none: all of them."""
        if self.between_nodes:
            return between_nodes(OSU)
        return tuple(question.name for question in asked_at(self.asks)) if self.asks else ()

    @property
    def instead(self) -> tuple[str, ...]:
        """The checks that it asks of a node without OSU; none: ``checks``."""
        return between_nodes(OWN) if self.between_nodes else ()


#: The second stage of a sweep; nobody asks for it alone.
PAIR = "mpi-pair"
LEVELS = {
    "accept": Level("all checks, and nothing unjudged or DEGRADED is accepted", minutes=60, hours=48, acceptance=True),
    "nightly": Level(
        "topology, host memory, every path between memory and GPUs and between GPUs, GPU compute", minutes=20, hours=6,
        asks=NIGHTLY,
    ),
    "quick": Level("every path once, in seconds", minutes=10, hours=2, quick=True),
    PAIR: Level(
        "MPI between two nodes, through every NIC; without OSU a ping-pong of our own", minutes=60, hours=24,
        between_nodes=True,
    ),
}  # fmt: skip

#: What a user can ask for.
CHOICES = tuple(name for name in LEVELS if name != PAIR)


SCHEMA = "nearfar-sweep/1"
FILE = "sweep.json"
#: The environment variable that has the number of the process that a sweep is to end with.
PARENT = "NEARFAR_SWEEP_PARENT"
#: Fields of a sweep that the file says otherwise, or not: its place is the folder, its jobs are those of ``nodes``.
_APART = ("folder", "jobs")
#: What a job is called that was taken back before it started: no job starts on its node, others want it, its time is over.
WITHDRAWN = ("refused", "busy", "DEADLINE")
#: How a nightly job ends that made way for others, or never had its turn.
_MADE_WAY = ("waiting", "busy", "PREEMPTED", "DEADLINE")


@dataclass(eq=False)
class SweepJob:
    """A job of a sweep, and how far it has come. ``nodes``: the node that it measures, or two that it measures together.
    ``job_id`` None: not submitted. ``state`` is Slurm's word about it; ``waiting``, ``refused`` and ``measured`` (before this process
    began) where it has none.

    ``ended``: nothing more comes of this attempt. ``has_result``: a result was renamed into place; ``interrupted``: of a
    job that Slurm ended early.
    """

    nodes: tuple[str, ...]
    attempt: int = 1
    job_id: int | None = None
    state: str = "waiting"
    reason: str = ""
    ended: bool = False
    has_result: bool = False
    interrupted: bool = False

    @property
    def name(self) -> str:
        """What its directory is called: the node's name, or ``n1+n2``."""
        return joined(self.nodes)

    @property
    def waiting(self) -> bool:
        """It has yet to be submitted."""
        return self.job_id is None and not self.ended

    @property
    def outstanding(self) -> bool:
        """It was submitted, and may still leave a result."""
        return self.job_id is not None and not self.ended

    @property
    def queued(self) -> bool:
        """It has not started, and nobody has taken it back."""
        return not self.ended and self.state in ("waiting", "PENDING")

    @property
    def made_way(self) -> bool:
        """Its node was wanted by others: in a nightly run that is no finding."""
        return self.ended and self.state in _MADE_WAY and (self.interrupted or not self.has_result)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep and its jobs by name, kept in ``folder``, which is named for it.

    ``partition`` and ``reservation`` are Slurm's; ``max_jobs``: in Slurm at once; ``options`` are sbatch's own, of every job.
    ``idle_only``: a nightly run, which takes idle nodes alone and makes way.
    ``minutes``: a job's time limit; ``started`` and ``deadline`` are in seconds since 1970; ``gres`` is by node, as sbatch takes
    it; ``left_out``: why a node of the partition is not even tried. ``mpi_pairs``: MPI between nodes follows, whose jobs are added.
    ``cluster``: Slurm's name of the cluster that has its jobs. ``merged``: all its
    jobs have ended, those of its pairs too, and its page is made.
    """

    folder: Path
    partition: str
    level: str
    max_jobs: int
    reservation: str | None = None
    options: tuple[str, ...] = ()
    idle_only: bool = False
    minutes: int
    started: float
    deadline: float
    jobs: dict[str, SweepJob]
    gres: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    mpi_pairs: bool = False
    cluster: str = ""
    merged: bool = False

    @property
    def name(self) -> str:
        """The sweep's name."""
        return self.folder.name

    @property
    def results(self) -> Path:
        """The results directory that it is in."""
        return self.folder.parent

    @property
    def job_prefix(self) -> str:
        """What the names of all its jobs begin with. A sweep of the same name in another results directory has other jobs."""
        place = blake2b(os.path.realpath(self.folder).encode(), digest_size=2).hexdigest()
        return f"nearfar-{self.name}:{place}:"

    @property
    def lanes(self) -> dict[str, str]:
        """The lane of each node or pair: what its jobs are called. Those of one lane run one after the other."""
        first = self.job_prefix
        return {name: f"{first}{place % self.max_jobs}" for place, name in enumerate(self.jobs)}

    @property
    def through(self) -> bool:
        """Nothing more comes of its jobs."""
        return all(job.ended for job in self.jobs.values())

    @property
    def text(self) -> str:
        """What ``sweep.json`` holds."""
        document = {
            "schema": SCHEMA, "sweep": self.name, "nodes": list(self.jobs),
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in _APART},
        }  # fmt: skip
        return json.dumps(document, indent=1) + "\n"

    def save(self) -> None:
        """Write ``sweep.json``, whole or not at all. Raises ``CouldNotJudge`` (full disk, read-only, a directory that is gone)."""
        self.check_place()
        # `act` reads it, maybe as another user, and believes what only its owner can change.
        files.write_atomically(self.folder / FILE, self.text, "name another --results DIR", mode=0o644)

    def check_place(self) -> None:
        """Raise ``CouldNotJudge`` where the sweep's directory is gone: another in its place would hide what was measured."""
        if not self.folder.is_dir():
            words = "it was moved or removed, or its file system is not mounted; bring it back, and continue"
            raise CouldNotJudge(f"{self.folder}: is gone: {words}")


def jobs_for(nodes: Iterable[tuple[str, ...]]) -> dict[str, SweepJob]:
    """A job that has yet to be submitted for each node (a tuple of one) or pair, by name."""
    return {job.name: job for job in map(SweepJob, nodes)}


def load(folder: Path) -> Sweep:
    """The sweep of a folder as its results have it: a node without a whole result has its turn again. Raises ``NearfarError`` where there
    is no sweep, ``CouldNotJudge`` for half a file."""
    path = folder / FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NearfarError(f"{path}: no such sweep; its name is a directory of the results directory") from None
    except (OSError, ValueError) as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error}") from None
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if schema != SCHEMA:
        words = "this file is not a sweep's, or of a later version"
        raise CouldNotJudge(f"{path}: expected schema {SCHEMA}, found {schema}; {words}")
    try:
        values = {f.name: _tuple(raw[f.name]) for f in fields(Sweep) if f.name not in _APART and f.name in raw}
        sweep = Sweep(folder=folder, jobs=jobs_for(map(parted, raw["nodes"])), **values)
    except (KeyError, TypeError, AttributeError) as error:
        raise CouldNotJudge(f"{path}: {error} is missing or wrong; the file was changed") from None
    for job in sweep.jobs.values():
        attempts = filter(results_directory.is_attempt, results_directory.names(str(_result(sweep, job).parents[1])))
        job.attempt = max(map(int, attempts), default=0)
        if job.attempt and has_result(sweep, job) and not was_interrupted(sweep, job):
            job.state, job.ended, job.has_result = "measured", True, True
        else:
            job.attempt += 1
    return sweep


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _result(sweep: Sweep, job: SweepJob) -> Path:
    return result.place(sweep.results, sweep.name, job.name, job.attempt) / result.RESULT


def has_result(sweep: Sweep, job: SweepJob) -> bool:
    """Whether a job's attempt has left a result."""
    return results_directory.is_there(_result(sweep, job))


def was_interrupted(sweep: Sweep, job: SweepJob) -> bool:
    """Whether a job's attempt left a result before it was through, as that says, believed or not: it is judged when all are merged."""
    found = files.json_or_none(_result(sweep, job))
    return isinstance(found, dict) and bool(found.get("interrupted"))
