"""The script that a sweep's jobs run, and the options that pin each to its node."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from nearfar.base import CouldNotJudge, node_lock, places
from nearfar.slurm.controller import templates

from .node_selection import gpus
from .sweep_file import Sweep, SweepJob

#: In the sweep's directory.
SCRIPT = "job.sh"
JOBS = "jobs"
#: What other variables begin with that stay on this host.
_NOT_FOR_JOBS = (
    "SLURM_", "SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "CUDA_", "NEARFAR_", "PMI", "OMPI_", "BASH_ENV",
)  # fmt: skip

#: What lint says of a site's files before a run measures.
_WARNS = ": warning: "


def output(folder: Path, job: SweepJob) -> Path:
    """The file of a job's standard output and error."""
    return folder / JOBS / f"{job.name}.{job.attempt}.out"


def text(sweep: Sweep) -> str:
    """The script of a sweep."""
    values = {
        "sweep": sweep.name, "level": sweep.level, "results": sweep.results, "site_partition": sweep.site_partition,
        "accept_degraded": sweep.accept_degraded, "python": sys.executable, "environment": sweep.environment,
    }  # fmt: skip
    return templates.render("job.sh", values)


def arguments(sweep: Sweep, job: SweepJob) -> list[str]:
    """The script's arguments, after its name: which node, which attempt, how many GPUs Slurm has there."""
    return [job.name, str(job.attempt), str(gpus(sweep.gres.get(job.nodes[0], "")))]


def submission(sweep: Sweep, job: SweepJob, output: Path, now: float) -> list[str]:
    """sbatch's options for a job: all of its nodes, only these, no requeue, a deadline."""
    gres, count = sweep.gres.get(job.nodes[0]), len(job.nodes)
    # Slurm refuses a deadline that the time limit does not fit before.
    deadline = max(sweep.deadline, now + sweep.minutes * 60 + 60)
    return [
        f"--job-name={sweep.job_name}", f"--partition={sweep.partition}", f"--nodelist={','.join(job.nodes)}",
        f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--exclusive", "--mem=0",
        *([f"--gres={gres}"] if gres else []), "--no-requeue", f"--time={sweep.minutes}",
        f"--deadline={time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(deadline))}", f"--output={output}", "--chdir=/",
        *([f"--reservation={sweep.reservation}"] if sweep.reservation else []), *sweep.options,
    ]  # fmt: skip


def last_line(path: Path) -> str:
    """The last thing that a job said of its measuring; empty where it said nothing. A warning of the site's files, which
    comes before, is no last word."""
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - 4096))
            lines = stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip() and _WARNS not in line), "")


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What of this process' environment a job needs: the checkout, the site and the programs, which were built before.

    Raises ``CouldNotJudge`` where there are no programs.
    """
    from nearfar import history  # `act`, which needs the room, has no use for it

    programs = environ.get("NEARFAR_PROGRAMS") or str(places.programs_directory())
    if not Path(programs).is_dir():
        raise CouldNotJudge(
            f"{programs}: no programs there, and jobs build nothing; build them first: ./validate --setup-only"
        )
    names = ("NEARFAR_SITE", "NEARFAR_SYSTEM", "NEARFAR_OSU", "NEARFAR_METRICS", node_lock.WAIT, node_lock.PART)
    kept = {name: environ[name] for name in names if environ.get(name)}
    # Each node keeps its own figures in the one history: its own reports are gone with its job.
    return {**kept, "NEARFAR_PROGRAMS": str(Path(programs).resolve()), "PYTHONPATH": str(places.IMPORT_PATH),
            history.VARIABLE: str(history.directory())}  # fmt: skip


def for_sbatch(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment that Slurm's commands get, and jobs with them: without what would change their options, or was said
    of this host's own job or GPUs."""
    kept = ("SLURM_CONF", "SLURM_CLUSTERS")
    return {name: value for name, value in environ.items() if name in kept or not name.startswith(_NOT_FOR_JOBS)}
