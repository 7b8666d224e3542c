"""A sweep planned, begun or resumed in a results directory, where one runs at a time; what would be wrong is said before it begins."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, files, plural, process, utc_text
from nearfar.slurm.controller import Slurm, node_names
from nearfar.slurm.results import make_for_all, result, results_directory
from nearfar.slurm.trust import own

from . import job_script, node_selection, slurmctld, sweep_file
from .levels import LEVELS
from .sweep_file import Sweep, SweepJob, SweepOptions, jobs_for

#: So many sweeps may have begun since one that was killed.
_RECENT = 10
_ELSEWHERE = "name another --results DIR"
#: A sweep's directory while it is made.
_BEGUN = ".begun"


def unfinished(results: Path, name: str | None, now: float) -> str | None:
    """The name of the sweep that a command has begun before, and that goes on where it is typed again: the one of its ``name``; without
    a name one of the last in ``results`` that the same command began, if it is within its time and its page is not made."""
    if name is not None:
        return name if (results / name).exists() else None
    for path in _newest_first(results)[:_RECENT]:
        with suppress(NearfarError):
            kept = sweep_file.load(path.parent)
            if kept.command == typed() and now < kept.deadline and not kept.merged:
                return kept.name
    return None


def _newest_first(results: Path) -> list[Path]:
    return sorted(results.glob(f"*/{sweep_file.FILE}"), key=lambda path: path.stat().st_mtime, reverse=True)


def refuse_other_options(kept: Sweep, asked: SweepOptions, nodes: str | None) -> None:
    """Raise ``NearfarError`` where a sweep of the same name was begun with other options."""
    others = [key for key, value in asdict(asked).items() if value != getattr(kept, key)]
    if nodes is not None and set(node_names.listed(nodes, "--nodes")) != {*kept.jobs, *kept.left_out}:
        others.append("nodes")
    if others:
        words = f"there is a sweep of that name, begun with other options ({', '.join(others)})"
        raise NearfarError(f"{kept.folder}: {words}; --resume {kept.name} continues it")


def new_sweep(
    slurm: Slurm, results: Path, asked: SweepOptions, *, nodes: str | None = None, name: str | None = None,
    minutes: int | None = None, hours: float | None = None, mpi_pairs: bool | None = None,
) -> Sweep:  # fmt: skip
    """A sweep that has yet to begin in the directory ``results``; a nightly run without idle nodes has no jobs. ``nodes`` is a list in
    Slurm's form; None: all of the partition or reservation. ``minutes`` and ``hours`` None: as the level has them. ``name`` None: the time
    and the level. ``mpi_pairs`` None: as the level and the site's partition have it. Raises ``NearfarError`` for what cannot be measured
    so."""
    environment = job_script.environment(os.environ)
    if nodes is not None:
        node_names.listed(nodes, "--nodes")
    level, now = LEVELS[asked.level], time.time()
    minutes, hours = minutes or level.minutes, level.hours if hours is None else hours
    if hours * 60 < minutes:
        raise NearfarError(f"--deadline {hours:g}: fewer hours than a job may take ({minutes} minutes)")
    name = name or time.strftime(f"%Y%m%dT%H%M%S-{asked.level}", time.gmtime(now))
    if not node_names.NAME.fullmatch(name):
        raise NearfarError(f"--name {name}: letters, digits, '.', '_' and '-' alone; it names a directory and jobs")
    names = node_selection.choose(slurm, asked.partition, nodes, asked.reservation)
    wanted, system = asked.site_partition, node_selection.system_of(names[0]) if asked.site_partition else None
    if system is not None and wanted not in system.partitions:  # where no file names the node, the jobs find out
        has = f"system '{system.name}' has no such partition; it has {', '.join(system.partitions)}"
        raise NearfarError(f"--site-partition {wanted}: {has}")
    if asked.options:
        slurmctld.refuse_misused(slurm, asked.options)
    known = slurm.nodes()
    busy = {node: why for node in names if (why := node_selection.occupation(known.get(node))) is not None}
    if asked.idle_only:
        names = longest_ago(results, [node for node in names if node not in busy])
    else:  # a lane waits behind a busy node
        names.sort(key=lambda node: node in busy)
    no_pairs = node_selection.reason_against_pairs(
        False if asked.idle_only else mpi_pairs, asked.level, names, asked.partition, asked.site_partition
    )
    return Sweep(
        **asdict(asked), folder=results / name, minutes=minutes, started=now, deadline=now + hours * 3600, environment=environment,
        command=typed(), jobs=jobs_for((node,) for node in names), mpi_pairs=no_pairs is None, no_pairs=no_pairs or "",
        gres={node: listed for node in names if node in known and (listed := node_selection.gres(known[node]))},
        left_out=busy if asked.idle_only else {}, cluster=slurm.cluster(),
    )  # fmt: skip


def typed() -> tuple[str, ...]:
    """The command that was typed, without what does not change what is measured."""
    return ("nearfar", *(word for word in sys.argv[1:] if word not in ("--no-wait", "--json", "--dry-run")))


def longest_ago(results: Path, nodes: Iterable[str]) -> list[str]:
    """The nodes, those first that no sweep in ``results`` has measured, then by the last sweep that did."""
    wanted = list(nodes)
    unseen, order = set(wanted), []
    for sweep in _newest_first(results):
        measured = {place.parent.name for place in sweep.parent.glob("nodes/*/[0-9]*")} & unseen
        order += [node for node in wanted if node in measured]
        unseen -= measured
        if not unseen:
            break
    return [node for node in wanted if node in unseen] + order[::-1]


def dry_run(sweep: Sweep) -> str:
    """What would be submitted, in a few lines."""
    waiting = [job for job in sweep.jobs.values() if job.waiting]
    which = node_names.fold(node for job in waiting for node in job.nodes) or "none"
    left = sum(job.outstanding for job in sweep.jobs.values())
    lines = [
        f"sweep {sweep.name}: {plural(len(sweep.jobs), 'node')} of {sweep.partition}; jobs are submitted for {which}",
        *([f"waited for: {plural(left, 'job')} that may still be in Slurm"] if left else []),
        f"at most {sweep.max_jobs} jobs at once, {sweep.minutes} minutes each; level {sweep.level}: {LEVELS[sweep.level].words}",
    ]
    if sweep.mpi_pairs:
        lines.append("then MPI between pairs of the nodes that are well; --no-mpi-pairs leaves it out")
    if sweep.no_pairs:
        lines.append(f"MPI between nodes is not measured: {sweep.no_pairs}")
    if waiting:
        lines.append(f"the first: sbatch {shlex.join(job_script.submission(sweep, waiting[0], sweep.started))}")
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
    with files.file_lock(path, 0.0, _ELSEWHERE):
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
    """Make a sweep's directory, whole or not at all; returns the sweep."""
    folder = sweep.folder
    beside = folder.parent / _BEGUN
    try:
        shutil.rmtree(beside, ignore_errors=True)  # who began one was killed
        beside.mkdir()
        beside.chmod(0o755)
        for name in (job_script.JOBS, "nodes"):
            make_for_all(beside / name)
        job_script.text(sweep)  # a template that is wrong is told now
        files.write_atomically(beside / sweep_file.FILE, sweep.text, _ELSEWHERE, mode=0o644)
        os.rename(beside, folder)
    except OSError as error:
        raise files.cannot_write(folder, error, _ELSEWHERE) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return sweep


def resume(results: Path, name: str, slurm: Slurm, result_wait: float = 0.0) -> Sweep:
    """A sweep as it stands by what its jobs have left and what Slurm has of them, whatever its file knows: nodes without a result have
    their turn again, and jobs that are still in Slurm are waited for. Where its time is over it gets as much again. ``result_wait``:
    seconds that the result of a job that has ended is waited for. Raises ``NearfarError`` for a sweep of another cluster."""
    sweep, here = sweep_file.load(results / name), slurm.cluster()
    if here != sweep.cluster:
        words = "continue it there, or name that cluster's SLURM_CONF"
        raise NearfarError(f"sweep {name} is of cluster {sweep.cluster}, and this host's Slurm is {here}: {words}")
    begun, in_slurm = job_script.begun(sweep), job_script.in_slurm(slurmctld.jobs(slurm, sweep.lanes.values()))
    alive = {name for name, (attempt, state) in in_slurm.items() if not state.ended}
    left = _results(sweep)
    gone = [job for job in sweep.jobs.values() if job.outstanding and job.name not in alive]
    if any(left.get(job.name, 0) < job.attempt for job in gone):
        time.sleep(result_wait)
        left = _results(sweep)
    for job in sweep.jobs.values():
        attempt, state = in_slurm.get(job.name, (0, None))
        if state is not None and attempt >= job.attempt:
            job.job_id, job.state, job.reason = state.job_id, state.state, state.reason
        if left.get(job.name, 0) >= max(job.attempt, attempt if job.name in alive else 0):
            job.attempt, job.has_result, job.ended = left[job.name], True, True
            job.interrupted = was_interrupted(sweep, job)
        elif job.name in alive:
            job.attempt, job.ended = max(job.attempt, attempt), False
        else:
            used = max(begun.get(job.name, 0), job.attempt - (job.job_id is None))
            sweep.jobs[job.name] = SweepJob(job.nodes, used + 1)
    now, sweep = time.time(), replace(sweep, merged=False)
    if sweep.deadline <= now or any(job.waiting for job in sweep.jobs.values()):
        return replace(sweep, started=now, deadline=now + (sweep.deadline - sweep.started))
    return sweep


def _results(sweep: Sweep) -> dict[str, int]:
    """The latest attempt at each node or pair that has left a result."""
    found: dict[str, int] = {}
    for place in results_directory.folders(sweep.results, sweep.name):
        if results_directory.is_there(place / result.RESULT):
            found[place.parent.name] = max(found.get(place.parent.name, 0), int(place.name))
    return found


def _result(sweep: Sweep, job: SweepJob) -> Path:
    return result.place(sweep.results, sweep.name, job.name, job.attempt) / result.RESULT


def has_result(sweep: Sweep, job: SweepJob) -> bool:
    """Whether a job's attempt has left a result."""
    return results_directory.is_there(_result(sweep, job))


def was_interrupted(sweep: Sweep, job: SweepJob) -> bool:
    """Whether a job's attempt left a result before it was through, as that says, believed or not: it is judged when all are merged."""
    found = files.json_or_none(_result(sweep, job))
    return isinstance(found, dict) and bool(found.get("interrupted"))
