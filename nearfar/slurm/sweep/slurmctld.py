"""What a sweep asks of slurmctld and tells it. A question is two RPCs, however many nodes there are; each job is one more, since it
names its node."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.slurm.controller import Slurm, WrongOption, node_names

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
