"""The script that a sweep's jobs run, the options that pin each to its node and its lane, and the files that tell of it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from nearfar.base import CouldNotJudge, node_lock, places, site_templates
from nearfar.slurm.controller import NodeState
from nearfar.slurm.results import result

from .sweep_file import Sweep, SweepJob

#: GRES that hand out parts of a GPU; a job that has the whole GPU cannot have them too.
_SHARED = ("mps", "shard")
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


def set_output_aside(folder: Path, job: SweepJob) -> None:
    """Rename the output of an earlier job of the same attempt, which left no result: its last line is not that of the next."""
    path = output(folder, job)
    with contextlib.suppress(OSError):  # mostly there is none
        path.rename(path.with_suffix(f".{int(path.stat().st_mtime)}{path.suffix}"))


def text(sweep: Sweep) -> str:
    """The script of a sweep."""
    values = {
        "sweep": sweep.name, "level": sweep.level, "results": sweep.results,
        "accept_degraded": sweep.accept_degraded, "python": sys.executable, "environment": sweep.environment, "cluster": sweep.cluster,
    }  # fmt: skip
    return site_templates.render("slurm/job.sh.j2", values)


def submission(sweep: Sweep, job: SweepJob, now: float) -> list[str]:
    """What sbatch is given for a job: all of its nodes, only these, no requeue, a deadline; then the script's arguments: the node, the
    attempt, how many GPUs Slurm has there. The jobs of a lane have one name, and Slurm runs them one after the other: so many lanes
    hold the number of jobs at once with nobody watching."""
    gres, count = sweep.gres.get(job.nodes[0], ""), len(job.nodes)
    # Slurm refuses a deadline that the time limit does not fit before.
    deadline = max(sweep.deadline, now + sweep.minutes * 60 + 60)
    return [
        f"--job-name={sweep.lanes[job.name]}", "--dependency=singleton", f"--partition={sweep.partition}",
        f"--nodelist={','.join(job.nodes)}", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--exclusive", "--mem=0",
        *([f"--gres={gres}"] if gres else []), "--no-requeue", f"--time={sweep.minutes}",
        f"--deadline={time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(deadline))}", f"--output={output(sweep.folder, job)}",
        "--open-mode=append", "--chdir=/",
        *([f"--reservation={sweep.reservation}"] if sweep.reservation else []), *sweep.options,
        str(sweep.folder / SCRIPT), job.name, str(job.attempt), str(gpus(gres)),
    ]  # fmt: skip


def refuse_second(results_directory: Path, sweep: str, job: SweepJob) -> None:
    """Raise ``CouldNotJudge`` where an attempt has left a result: a submission whose answer was lost may be in Slurm twice, and a node is
    measured once. Both are of one lane, so that they never run at once."""
    check_seen(results_directory, sweep)
    place = result.place(results_directory, sweep, job.name, job.attempt)
    if place.exists():
        raise CouldNotJudge(f"{place}: there is a result already; it is kept, and this job measured nothing")


def check_seen(results_directory: Path, sweep: str) -> None:
    """Raise ``CouldNotJudge`` where a job does not see its sweep's directory: a result in another of its name would be lost."""
    folder = results_directory / sweep / JOBS
    if not folder.is_dir():
        raise CouldNotJudge(f"{folder}: not there for this node; is its file system mounted here? no result is left")


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
    """What of this process' environment a job needs: the checkout, the site and the programs, which were built before. Raises
    ``CouldNotJudge`` where there are no programs."""
    from nearfar import history  # `act`, which needs the package, has no use for it

    programs = environ.get("NEARFAR_PROGRAMS") or str(places.programs_directory())
    if not Path(programs).is_dir():
        words = "no programs there, and jobs build nothing; build them first: ./validate --setup-only"
        raise CouldNotJudge(f"{programs}: {words}")
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


def gres(node: NodeState) -> str:
    """All of a node's GRES as sbatch's ``--gres`` takes them; empty where it has none."""
    listed = node.fields.get("Gres", "")
    found = []
    # gpu:h100:8(S:0-1),nvme:2: commas also stand within the parentheses.
    for entry in re.split(r",(?![^()]*\))", listed):
        words = re.sub(r"\(.*", "", entry).split(":")
        if words[0] and not entry.startswith("(null)") and words[0] not in _SHARED and words[-1] != "0":
            found.append(":".join(word for word in words if word != "no_consume"))
    return ",".join(found)


def gpus(listed: str) -> int:
    """How many GPUs are among GRES as ``gres`` gives them; in MIG mode they may be instances."""
    found = 0
    for name, *words in (entry.split(":") for entry in listed.split(",")):
        if name == "gpu":
            found += int(words[-1]) if words and words[-1].isdecimal() else 1
    return found
