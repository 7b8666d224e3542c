"""What a sweep asks of slurmctld and tells it, and how often. Questions are counted: each is two RPCs, and a minute has fewer than
twenty, however many nodes there are; each job is one more, since it names its node."""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.slurm.controller import NodeState, Slurm, WrongOption, node_names

#: Questions within any minute, and its length in seconds. So many may follow each other at once; each more within the minute waits
#: so many seconds longer than the one before.
QUERIES, MINUTE = 9, 60.0
AT_ONCE, LATER = 4, 3.0
#: What is said of a controller that is away or busy, as opposed to an order that is wrong.
_PASSING = (
    "Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted", "Connection refused",
    "temporarily unable", "temporarily unavailable", "standby mode", "no answer within", "Connection reset",
    "Transport endpoint", "Unexpected message received", "Protocol authentication error", "Slurm controller",
)  # fmt: skip
#: Seconds between two questions before a sweep has begun; each may take Slurm's commands ten by itself.
_PAUSE = 5.0
#: Seconds from the first line about a slurmctld that does not answer to the next; each time twice as long.
_TOLD_AGAIN = 60.0
#: What squeue is asked of each job, with widths that nothing is cut at: the output file's name is a path. (Slurm 25 shows no script's
#: arguments.)
_FIELDS = "JobID:20|,State:30|,NodeList:520|,Reason:300|,STDOUT:4200"
#: States after which nothing more comes of a job.
ENDED = frozenset({
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
    "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT",
})  # fmt: skip


T = TypeVar("T")


@dataclass(frozen=True)
class Pace:
    """Seconds: between two submissions, two looks at the results directory, two questions to slurmctld (the interval grows from
    the first to the last while nothing changes), two readings of all nodes' states, two saves. ``result_wait``: how long a
    result may take from the end of its job to this host's sight (NFS keeps attributes for a minute)."""

    submit: float = 0.2
    poll: float = 0.5
    query_first: float = 1.0
    query_last: float = 6.0
    nodes: float = 30.0
    result_wait: float = 75.0
    save: float = 2.0


@dataclass(frozen=True)
class JobState:
    """A job as squeue has it. ``started``: it has had nodes. ``output``: the file of its standard output."""

    job_id: int
    state: str
    reason: str
    started: bool
    output: str

    @property
    def ended(self) -> bool:
        """Nothing more comes of it."""
        return self.state in ENDED


@dataclass(frozen=True)
class NodeGroup:
    """A partition or a reservation: its state in Slurm's word, and its nodes in Slurm's order."""

    name: str
    state: str
    nodes: tuple[str, ...]


def passing(error: Exception) -> bool:
    """Whether the same call may succeed a little later."""
    return any(words in str(error) for words in _PASSING)


def waited_for(
    ask: Callable[[], T], limit: float, tell: Callable[[str], None] | None = None, clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:  # fmt: skip
    """What ``ask`` gives, asked again for at most ``limit`` seconds where slurmctld does not answer.

    ``ask`` may be several questions that change nothing. ``tell`` gets a line now and then (None: standard error, on a terminal each
    in the place of the last). Raises what ``ask`` raises for every other reason, and ``CouldNotJudge`` after the limit.
    """
    say = tell or _say
    began, tell_at, apart = clock(), 0.0, _TOLD_AGAIN
    while True:
        try:
            found = ask()
        except NearfarError as error:
            waited = clock() - began
            if not passing(error):
                raise
            if waited >= limit:
                raise CouldNotJudge(f"{error}; waited {waited:.0f} s, and nothing was begun") from None
            if waited >= tell_at or (tell is None and sys.stderr.isatty()):
                say(f"slurmctld does not answer; waiting, {waited:.0f} s so far; Ctrl-C ends")
            if waited >= tell_at:
                tell_at, apart = waited + apart, 2 * apart
            sleep(min(_PAUSE, max(0.0, limit - waited)))
            continue
        if tell_at:
            say("slurmctld answers again")
            if tell is None and sys.stderr.isatty():
                print(file=sys.stderr)
        return found


def _say(words: str) -> None:
    begin, end = ("\r\x1b[K", "") if sys.stderr.isatty() else ("", "\n")
    print(f"{begin}nearfar: {words}", end=end, file=sys.stderr, flush=True)


class Controller:
    """``clock``: seconds that only grow. Every question may raise what ``scontrol.Slurm.call`` raises."""

    def __init__(self, slurm: Slurm, clock: Callable[[], float] = time.monotonic) -> None:
        self._slurm = slurm
        self._clock = clock
        self._queried: deque[float] = deque(maxlen=QUERIES)

    def may_ask(self) -> bool:
        """Whether it is time for a question."""
        asked = self._asked()
        wait = max(0, asked - AT_ONCE) * LATER
        return asked == 0 or (asked < QUERIES and self._clock() - self._queried[-1] >= wait)

    def may_ask_more(self) -> bool:
        """Whether another question may follow the one that was asked just now."""
        return self._asked() < QUERIES

    def _asked(self) -> int:
        """The questions of the last minute."""
        now = self._clock()
        return sum(now - at <= MINUTE for at in self._queried)

    def _ask(self, *command: str) -> str:
        self._queried.append(self._clock())
        return self._slurm.call(*command)

    def partition(self, name: str) -> NodeGroup:
        """A partition. Raises ``NearfarError`` for one that Slurm does not know."""
        return self._group("partition", name, "PartitionName")

    def reservation(self, name: str) -> NodeGroup:
        """A reservation. Raises ``NearfarError`` for one that Slurm does not know."""
        return self._group("reservation", name, "ReservationName")

    def _group(self, kind: str, name: str, key: str) -> NodeGroup:
        if not node_names.NAME.fullmatch(name):
            raise NearfarError(f"--{kind} {name}: not the name of a {kind}")
        try:
            text = self._ask("scontrol", "--all", "--oneliner", "show", kind, name)
        except CouldNotJudge as error:
            if "not found" not in str(error):
                raise
            text = ""
        fields = dict(re.findall(r"(\w+)=(\S*)", text))
        if fields.get(key) != name:
            known = "sinfo -s" if kind == "partition" else "scontrol show reservation"
            raise NearfarError(f"--{kind} {name}: Slurm knows no such {kind}; {known} lists them")
        nodes = fields.get("Nodes", "")
        return NodeGroup(name, fields.get("State", ""), () if nodes == "(null)" else tuple(node_names.expand(nodes)))

    def cluster(self) -> str:
        """The cluster's name."""
        self._queried.append(self._clock())
        return self._slurm.settings().get("ClusterName", "")

    def nodes(self) -> dict[str, NodeState]:
        """All nodes by name."""
        self._queried.append(self._clock())
        return self._slurm.nodes()

    def jobs(self, name: str) -> list[JobState]:
        """This user's jobs of a name that slurmctld remembers, ended ones too (it forgets them after MinJobAge)."""
        text = self._ask("squeue", "--noheader", "--me", "--states=all", f"--name={name}", f"--Format={_FIELDS}")
        return [_job(line) for line in text.splitlines() if line.strip()]

    def submit(self, options: Sequence[str], script: str, *arguments: str) -> int:
        """Submit a script; returns the job's number. No question: submissions have a pace of their own."""
        answer = self._slurm.call("sbatch", "--parsable", *options, script, *arguments)
        match = re.match(r"(\d+)(?:;|$)", answer.strip().splitlines()[-1] if answer.strip() else "")
        if match is None:
            raise CouldNotJudge(f"sbatch: said '{answer.strip()[:80]}', not a job's number")
        return int(match[1])

    def refuse_misused(self, options: Sequence[str]) -> None:
        """Raise ``WrongOption`` for options that sbatch does not have. Whether such a job may start is seen when it is submitted."""
        try:
            self._slurm.call("sbatch", "--test-only", *options, "--wrap=true")
        except WrongOption:
            raise
        except NearfarError:
            pass

    def cancel_pending(self, jobs: Iterable[int]) -> None:
        """End jobs that have not started; for one that has meanwhile, this does nothing."""
        numbers = list(map(str, jobs))
        if numbers:
            self._slurm.call("scancel", "--quiet", "--state=PENDING", *numbers)


def _job(line: str) -> JobState:
    fields = [field.strip() for field in line.split("|", 4)]
    if len(fields) != 5 or not fields[0].isdigit():
        raise CouldNotJudge(f"squeue: '{line[:80]}' is no line that was asked for")
    number, state, has, reason, output = fields
    return JobState(int(number), state, reason, bool(has), output)
