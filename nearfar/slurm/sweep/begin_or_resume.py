"""A sweep planned, begun or resumed in a results directory, where one runs at a time; what would be wrong is said before it begins."""

from __future__ import annotations

import os
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, files, plural, process, utc_text
from nearfar.slurm.controller import ORIGIN, NodeState, Slurm, node_names, reservations
from nearfar.slurm.results import make_for_all
from nearfar.slurm.trust import own

from . import slurm_jobs, sweep_file
from .slurm_jobs import JobState, partition_nodes
from .sweep_file import LEVELS, Sweep, jobs_for


def choose(slurm: Slurm, partition: str, nodes: str | None, reservation: str | None) -> list[str]:
    """The names of the nodes: those of the list or of the reservation, else all of the partition. Raises ``NearfarError`` for names that
    the partition or reservation lacks, and what ``partition_nodes`` raises."""
    wanted = all_of_it = partition_nodes(slurm, partition)
    if nodes is not None:
        wanted = node_names.listed(nodes, "--nodes")
        _all_in(wanted, all_of_it, f"--nodes {nodes}", f"partition {partition}")
    if reservation is None:
        return wanted
    reserved = _reserved(slurm, reservation)
    if nodes is not None:
        _all_in(wanted, sorted(reserved), f"--nodes {nodes}", f"reservation {reservation}")
    wanted = [node for node in wanted if node in reserved]
    if not wanted:
        raise NearfarError(f"reservation {reservation} has no node of partition {partition}")
    return wanted


def _reserved(slurm: Slurm, name: str) -> frozenset[str]:
    found = next((each for each in reservations.show(slurm) if each.name == name), None)
    if found is None:
        words = "Slurm has no such reservation; scontrol show reservation lists them"
        raise NearfarError(f"--reservation {name}: {words}")
    if found.state != "ACTIVE":
        raise CouldNotJudge(f"reservation {name} is {found.state}: no job starts in it now")
    return found.nodes


def _all_in(wanted: Sequence[str], known: Sequence[str], what: str, where: str) -> None:
    absent = sorted(set(wanted) - set(known))
    if absent:
        raise NearfarError(f"{what}: {node_names.fold(absent)} not in {where} (which has {node_names.fold(known)})")


def first_objection(
    names: Sequence[str], nodes: Mapping[str, NodeState], objection: Callable[[NodeState | None], str | None]
) -> str | None:
    """The first objection to one of these nodes, with its name where there are several."""
    for name in names:
        why = objection(nodes.get(name))
        if why is not None:
            return why if len(names) == 1 else f"{name}: {why}"
    return None


def refusal(node: NodeState | None) -> str | None:
    """Why no job can start on a node now, in words; None where one can, if only after others have ended."""
    if node is None:
        return "Slurm shows no such node any more"
    who = f" by {node.reason_by}" if node.reason_by else ""
    when = f" at {node.reason_at:%Y-%m-%dT%H:%M:%SZ}" if node.reason_at else ""
    why = f": {' '.join(node.reason.split())}" if node.reason else ""
    if node.drain:
        return f"drained{who}{when}{why}"
    if node.base == "DOWN" or node.flags & {"FAIL", "INVALID_REG", "INVAL"}:
        state = "down" if node.base == "DOWN" else "failing" if "FAIL" in node.flags else "wrongly registered"
        return f"{state}{who}{when}{why}"
    if node.base == "FUTURE":
        return "future: no machine has this name yet"
    return None


def occupation(node: NodeState | None) -> str | None:
    """Why a node is not exactly idle, in words; None where it is: up, no job, not planned for one, not reserved, not powered
    down, and answering."""
    if node is None or node.drain or node.down:
        return refusal(node) or "not responding"
    if node.idle:
        return None
    flags = ", ".join(sorted(node.flags - ORIGIN)).lower().replace("_", " ")
    return flags if node.base == "IDLE" else node.base.lower()


_ELSEWHERE = "name another --results DIR"


def new_sweep(
    slurm: Slurm, results: Path, *, partition: str, level: str, reservation: str | None = None, options: Sequence[str] = (),
    idle_only: bool = False, nodes: str | None = None, name: str | None = None, minutes: int | None = None, hours: float | None = None,
    **kept: Any,
) -> Sweep:  # fmt: skip
    """A sweep that has yet to begin in the directory ``results``; a nightly run without idle nodes has no jobs. ``nodes`` is a list in
    Slurm's form; None: all of the partition or reservation. ``minutes`` and ``hours`` None: as the level has them. ``name`` None: the time
    and the level. ``kept``: further fields of the sweep. Raises ``NearfarError`` for what cannot be measured so."""
    environment = slurm_jobs.environment(os.environ)
    if nodes is not None:
        node_names.listed(nodes, "--nodes")
    now = time.time()
    minutes, hours = minutes or LEVELS[level].minutes, LEVELS[level].hours if hours is None else hours
    if hours * 60 < minutes:
        raise NearfarError(f"--deadline {hours:g}: fewer hours than a job may take ({minutes} minutes)")
    name = name or time.strftime(f"%Y%m%dT%H%M%S-{level}", time.gmtime(now))
    if not node_names.NAME.fullmatch(name):
        raise NearfarError(f"--name {name}: letters, digits, '.', '_' and '-' alone; it names a directory and jobs")
    if (results / name).exists():
        raise NearfarError(
            f"{results / name}: there is a sweep of that name; --resume {name} continues it, or name another: --name NAME"
        )
    names = choose(slurm, partition, nodes, reservation)
    if options:
        slurm_jobs.refuse_misused(slurm, options)
    known = slurm.nodes()
    busy = {node: why for node in names if (why := occupation(known.get(node))) is not None}
    if idle_only:
        names = longest_ago(results, [node for node in names if node not in busy])
    else:  # a lane waits behind a busy node
        names.sort(key=lambda node: node in busy)
    return Sweep(
        **kept, partition=partition, level=level, reservation=reservation, options=tuple(options), idle_only=idle_only,
        folder=results / name, minutes=minutes, started=now, deadline=now + hours * 3600, environment=environment,
        command=("nearfar", *sys.argv[1:]), jobs=jobs_for((node,) for node in names),
        gres={node: listed for node in names if node in known and (listed := slurm_jobs.gres(known[node]))},
        left_out=busy if idle_only else {}, cluster=slurm.cluster(),
    )  # fmt: skip


def longest_ago(results: Path, nodes: Iterable[str]) -> list[str]:
    """The nodes, those first that no sweep in ``results`` has measured, then by the last sweep that did."""
    wanted = list(nodes)
    unseen, order = set(wanted), []
    sweeps = results.glob(f"*/{sweep_file.FILE}")
    for sweep in sorted(sweeps, key=lambda path: path.stat().st_mtime, reverse=True):
        measured = {place.parent.name for place in sweep.parent.glob("nodes/*/[0-9]*")} & unseen
        order += [node for node in wanted if node in measured]
        unseen -= measured
        if not unseen:
            break
    return [node for node in wanted if node in unseen] + order[::-1]


def dry_run(sweep: Sweep) -> str:
    """What would be submitted, in a few lines."""
    waiting = [job for job in sweep.jobs.values() if job.waiting]
    which_nodes = [node for job in sweep.jobs.values() for node in job.nodes]
    which = node_names.fold(node for job in waiting for node in job.nodes) or "none"
    left = sum(job.outstanding for job in sweep.jobs.values())
    lines = [
        f"sweep {sweep.name}: {plural(len({*which_nodes}), 'node')} of {sweep.partition}; jobs are submitted for {which}",
        *([f"waited for: {plural(left, 'job')} that may still be in Slurm"] if left else []),
        f"at most {sweep.max_jobs} jobs at once, {sweep.minutes} minutes each; level {sweep.level}: {LEVELS[sweep.level].words}",
    ]
    if sweep.mpi_pairs:
        lines.append("then MPI between pairs of the nodes that are well")
    if waiting:
        lines.append(f"the first: sbatch {shlex.join(slurm_jobs.submission(sweep, waiting[0], sweep.started))}")
    return "\n".join(lines)


@contextmanager
def lock(results: Path) -> Iterator[None]:
    """Hold a results directory. Raises ``CouldNotJudge`` that names the holder where another sweep has it, and where others could forge
    results. A sweep that a retest has started ends with it, so that nobody holds the directory for a retest that was killed."""
    parent = os.environ.get(sweep_file.PARENT, "")
    if parent.isdecimal():
        process.end_with(int(parent))
    refuse_forgeable(results)
    try:
        make_for_all(results)
    except OSError as error:
        raise files.cannot_write(results, error, _ELSEWHERE) from None
    refuse_forgeable(results)
    path = results / ".lock"
    with files.file_lock(path, 0.0, _ELSEWHERE, mode=0o600):
        with suppress(OSError):  # a full disk: the next one is not told who
            path.write_text(f"sweep, process {os.getpid()} on {socket.gethostname()} since {utc_text()}")
        yield


def refuse_forgeable(results: Path) -> None:
    """Raise ``CouldNotJudge`` for a results directory in which others could forge results, or a link that leads nowhere."""
    link = next(filter(files.leads_nowhere, (results, *results.parents)), None)
    if link is not None:
        raise CouldNotJudge(f"{link}: a dangling link; {_ELSEWHERE}")
    try:
        if results.is_dir():
            own(results).directory(results)
    except CouldNotJudge as error:
        words = str(error).removesuffix("; not counted")
        raise CouldNotJudge(f"{words}: results there could be forged; chmod go-w it, or {_ELSEWHERE}") from None


def begin(sweep: Sweep) -> Sweep:
    """Make a sweep's directory, with its file last: before that it is no sweep; returns the sweep."""
    slurm_jobs.text(sweep)  # a template that is wrong is told now
    try:
        for name in (slurm_jobs.JOBS, "nodes"):
            make_for_all(sweep.folder / name)
    except OSError as error:
        raise files.cannot_write(sweep.folder, error, _ELSEWHERE) from None
    sweep.save()
    return sweep


def resume(results: Path, name: str, slurm: Slurm) -> Sweep:
    """A sweep of the nodes that an earlier one has no whole result of; where any is left, with as much time again. Jobs of the earlier
    one that are still in Slurm are waited for. Raises ``NearfarError`` for a sweep of another cluster."""
    sweep, here = sweep_file.load(results / name), slurm.cluster()
    if here != sweep.cluster:
        words = "continue it there, or name that cluster's SLURM_CONF"
        raise NearfarError(f"sweep {name} is of cluster {sweep.cluster}, and this host's Slurm is {here}: {words}")
    if sweep.through and (sweep.merged or not sweep.mpi_pairs):
        return sweep
    adopt(sweep, slurm_jobs.jobs(slurm, sweep.lanes.values()))
    now = time.time()
    return replace(sweep, merged=False, started=now, deadline=now + (sweep.deadline - sweep.started))


def adopt(sweep: Sweep, states: Iterable[JobState]) -> None:
    """Take jobs of a sweep that Slurm has and this process has not submitted, or does not know that it has, for those of their nodes: a
    node is not measured by two at once. A job is known by its output file."""
    alive = {state.output.stem: state for state in states if not state.ended}
    for job in sweep.jobs.values():
        state = alive.get(f"{job.name}.{job.attempt}")
        if job.waiting and state is not None:
            job.job_id, job.state, job.reason = state.job_id, state.state, state.reason
