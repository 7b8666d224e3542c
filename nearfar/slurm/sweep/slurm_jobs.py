"""A sweep's jobs in Slurm: their script, the options that pin each to its node and lane, the files that tell of them, and what slurmctld is
asked: two RPCs a question, however many nodes there are, and one more for each job, since it names its node."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, node_lock, places, site_templates
from nearfar.slurm.controller import NodeState, Slurm, WrongOption, node_names
from nearfar.slurm.results import result

from .sweep_file import Sweep, SweepJob

#: What is said of a controller that is away or busy, as opposed to an order that is wrong.
_PASSING = (
    "Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted", "Connection refused",
    "temporarily unable", "temporarily unavailable", "standby mode", "no answer within", "Connection reset",
    "Transport endpoint", "Unexpected message received", "Protocol authentication error", "Slurm controller",
)  # fmt: skip
#: What squeue is asked of each job, with widths that nothing is cut at: the output file's name is a path. (Slurm 25 shows no script's
#: arguments.)
_FIELDS = "JobID:20|,State:30|,NodeList:520|,Reason:300|,STDOUT:4200"
#: States after which nothing more comes of a job.
ENDED = frozenset({
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT",
})  # fmt: skip


@dataclass(frozen=True)
class Pace:
    """Seconds: between two submissions, two turns of the loop, two questions about all jobs (at first, and later), two about all nodes.
    ``result_wait``: how long a result may take from the end of its job to this host's sight (NFS keeps attributes for a
    minute). The first minute has a dozen questions, each later one nine."""

    submit: float = 0.2
    poll: float = 0.5
    first: float = 2.0
    jobs: float = 10.0
    nodes: float = 30.0
    result_wait: float = 75.0


@dataclass(frozen=True)
class JobState:
    """A job as squeue has it. ``started``: it has had nodes. ``output``: the file of its standard output."""

    job_id: int
    state: str
    reason: str
    started: bool
    output: Path

    @property
    def ended(self) -> bool:
        """Nothing more comes of it."""
        return self.state in ENDED


def passing(error: Exception) -> bool:
    """Whether the same call may succeed a little later."""
    return any(words in str(error) for words in _PASSING)


def print_line(words: str) -> None:
    """A line about the sweep on standard error, where progress goes."""
    print(f"nearfar: {words}", file=sys.stderr, flush=True)


def partition_nodes(slurm: Slurm, name: str) -> list[str]:
    """The nodes of a partition, in Slurm's order. Raises ``NearfarError`` for one that Slurm does not know, ``CouldNotJudge`` for one
    in which no job starts."""
    if not node_names.NAME.fullmatch(name):
        raise NearfarError(f"--partition {name}: not the name of a partition")
    try:
        text = slurm.call("scontrol", "--all", "--oneliner", "show", "partition", name)
    except CouldNotJudge as error:
        if "not found" not in str(error):
            raise
        text = ""
    fields = dict(re.findall(r"(\w+)=(\S*)", text))
    if fields.get("PartitionName") != name:
        raise NearfarError(f"--partition {name}: Slurm has no such partition; sinfo -s lists them")
    if fields.get("State") != "UP":
        remedy = f"scontrol update partition={name} state=up, or name another"
        raise CouldNotJudge(f"partition {name} is {fields.get('State')}: no job starts in it; {remedy}")
    if fields.get("Nodes", "(null)") == "(null)":
        raise CouldNotJudge(f"partition {name} has no nodes: nothing to measure")
    return node_names.expand(fields["Nodes"])


def jobs(slurm: Slurm, names: Iterable[str]) -> list[JobState]:
    """This user's jobs of these names that slurmctld remembers, ended ones too (it forgets them after MinJobAge)."""
    wanted = ",".join(dict.fromkeys(names))
    text = slurm.call("squeue", "--noheader", "--me", "--states=all", f"--name={wanted}", f"--Format={_FIELDS}")
    return [_job(line) for line in text.splitlines() if line.strip()]


def submit(slurm: Slurm, words: Sequence[str]) -> int:
    """Submit a script; ``words`` are sbatch's options, the script and its arguments. Returns the job's number."""
    answer = slurm.call("sbatch", "--parsable", *words)
    match = re.match(r"(\d+)(?:;|$)", answer.strip().splitlines()[-1] if answer.strip() else "")
    if match is None:
        raise CouldNotJudge(f"sbatch printed '{answer.strip()[:80]}', not a job's number")
    return int(match[1])


def refuse_misused(slurm: Slurm, options: Sequence[str]) -> None:
    """Raise ``WrongOption`` for options that sbatch does not have. Whether such a job may start is seen when it is submitted."""
    try:
        slurm.call("sbatch", "--test-only", *options, "--wrap=true")
    except WrongOption:
        raise
    except NearfarError:
        pass


def _job(line: str) -> JobState:
    fields = [field.strip() for field in line.split("|", 4)]
    if len(fields) != 5 or not fields[0].isdigit():
        raise CouldNotJudge(f"squeue: '{line[:80]}' is not a line that nearfar asked for")
    number, state, has, reason, output = fields
    return JobState(int(number), state, "" if reason == "None" else reason, bool(has), Path(output))


#: GRES that hand out parts of a GPU; a job that has the whole GPU cannot have them too.
_SHARED = ("mps", "shard")
#: In the sweep's directory.
SCRIPT = "job.sh"
JOBS = "jobs"
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
        "sweep": sweep.name, "level": sweep.level, "results": sweep.results, "python": sys.executable,
        "environment": sweep.environment, "cluster": sweep.cluster,
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
