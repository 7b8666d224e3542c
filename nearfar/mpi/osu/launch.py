"""One run of a benchmark: its ranks started by the MPI's own launcher, each bound by ``rank.py``, and what came of it."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import NearfarError, process
from nearfar.binding import Mpi, launchers
from nearfar.mpi import RankAccount, RankPlan, as_root, death, rank_files
from nearfar.topology import format_cpu_list, parse_cpu_list

from .rank_places import Rank

#: Seconds between two looks at a running program that is where it was put, rare enough to disturb nothing, and at one that is elsewhere.
_LOOKS = (0.5, 0.1)
#: Seconds to wait for a rank's watcher to write that the rank ended.
_LAST_WORDS = 1.0
#: Ranks of a run that goes well end together.
_LONG_BEFORE = 3.0


@dataclass(frozen=True)
class LauncherRun:
    """One run as it ended."""

    finished: process.Finished
    ranks: tuple[RankAccount, ...]
    limit: float

    @property
    def failure(self) -> str | None:
        """Why it gave nothing, in a sentence; None where it ended well."""
        done = self.finished
        unbound = next((rank.unbound for rank in self.ranks if rank.unbound), None)
        if unbound:
            return unbound
        if done.timed_out:
            return f"did not end within {self.limit:g} s, and was ended with all its ranks{self._early}"
        if done.returncode == 0:
            return None
        processes = {rank.pid: rank.rank for rank in self.ranks if rank.pid is not None}
        died = death(done.stderr + done.stdout, processes)
        if died is not None:
            return died.words + self._others
        last_line = _last_words(done)
        return f"ended with exit code {done.returncode}" + (f": {last_line}" if last_line else "")

    @property
    def _early(self) -> str:
        """The rank that ended long before the others did, which then waited for it."""
        ended = sorted((rank.ended, rank.rank) for rank in self.ranks if rank.ended is not None)
        if len(ended) < 2 or ended[1][0] - ended[0][0] < _LONG_BEFORE:
            return ""
        return f"; rank {ended[0][1]} had ended {ended[1][0] - ended[0][0]:.0f} s before the other ranks"

    @property
    def _others(self) -> str:
        """How long the others lived on after the first rank's end."""
        ends = sorted(rank.ended for rank in self.ranks if rank.ended is not None)
        if len(ends) < len(self.ranks) or len(ends) < 2:
            return ""
        return f"; the other ranks ended within {max(0.1, ends[-1] - ends[0]):.1f} s"


@dataclass(frozen=True)
class Starter:
    """Starts benchmarks. ``hosts`` are the job's nodes (one: this machine)."""

    mpi: Mpi
    hosts: tuple[str, ...]
    limit: float

    def run(self, program: Sequence[str], ranks: Sequence[Rank], extra: Mapping[str, str] | None = None) -> LauncherRun:
        """Run a program on the given places; ``extra`` is environment of its ranks."""
        # The ranks of another node read it too: beside the job's output, which every node of the job sees.
        shared = Path.cwd() if len(self.hosts) > 1 else None
        with _folder(shared) as folder:
            plan = Path(folder, "plan")
            rank_files.write_plan(plan, [_planned(rank, extra or {}) for rank in ranks], _LOOKS)
            command = [*self._launcher(ranks), *rank_files.wrapper(plan), *program]
            env = {**os.environ, **launchers.no_binding(), **as_root.environment()}
            done = process.run(command, self.limit, env=env)
            return LauncherRun(done, rank_files.accounts(plan, len(ranks), _LAST_WORDS), self.limit)

    def _launcher(self, ranks: Sequence[Rank]) -> list[str]:
        hosts = len({rank.host for rank in ranks})
        # In a job of several nodes the ranks of one node are told which.
        return launchers.command(self.mpi, len(ranks), self.hosts[:hosts] if len(self.hosts) > 1 else ())


def _folder(parent: Path | None) -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="osu-", dir=parent)
    except OSError as error:
        raise NearfarError(f"{parent or tempfile.gettempdir()}: cannot be written: {error.strerror}") from None


def _planned(rank: Rank, extra: Mapping[str, str]) -> RankPlan:
    gpus = None if rank.gpu is None else rank.gpu.uuid or str(rank.gpu.index)
    # Containers may forbid to bind memory: what is in effect is judged.
    policy = "bind" if rank.memory_nodes else None
    return RankPlan(tuple(rank.cpus), policy, tuple(rank.memory_nodes), must=False, gpus=gpus, environment=dict(extra))


def misplaced(ranks: Sequence[Rank], accounts: Sequence[RankAccount]) -> str | None:
    """What is wrong with the binding in effect, in a sentence; None where every rank was where it should be."""
    hosts = [{account.host for rank, account in zip(ranks, accounts) if rank.host == host} for host in (0, 1)]
    started = sorted((hosts[0] | hosts[1]) - {""})
    if hosts[1] and (len(started) != 2 or hosts[0] & hosts[1]):
        return f"the ranks of two nodes ran on {', '.join(started)}"
    if not hosts[1] and len(started) > 1:
        return f"the ranks of one node ran on {', '.join(started)}"
    taken: dict[tuple[str, int], int] = {}
    for rank, account in zip(ranks, accounts):
        wrong = _misplaced(rank, account)
        if wrong is not None:
            return wrong
        for cpu in account.cpus:
            other = taken.setdefault((account.host, cpu), rank.rank)
            if other != rank.rank:
                return f"ranks {other} and {rank.rank} share CPU {cpu} of {account.host}: oversubscribed"
    return None


def _misplaced(rank: Rank, account: RankAccount) -> str | None:
    if not account.cpus:
        return f"rank {rank.rank} did not report where it was bound: the launcher did not start it through the wrapper"
    for seen in filter(None, (account.cpus, account.running)):
        if seen != rank.cpus:
            moved = "" if seen is account.cpus else ", while it ran: the MPI or its launcher moved it"
            asked = format_cpu_list(rank.cpus)
            return f"rank {rank.rank} was on CPUs {format_cpu_list(seen)}, bound to {asked}{moved}"
    wished = format_cpu_list(rank.memory_nodes)
    if account.policy == "bind" and account.memory != rank.memory_nodes:
        return (
            f"rank {rank.rank}'s memory was bound to NUMA nodes {format_cpu_list(account.memory)}, asked for {wished}"
        )
    if not set(rank.memory_nodes) <= set(parse_cpu_list(account.memory_allowed)):
        return f"rank {rank.rank} may not use the memory of NUMA node {wished} (allowed: {account.memory_allowed})"
    return None


def _last_words(done: process.Finished) -> str:
    """The first line that is no frame of a launcher's message: what the program said."""
    for text in (done.stderr, done.stdout):
        for line in text.splitlines():
            last = line.strip()
            if last and not re.fullmatch(r"[-=*\s]+", last) and not last.startswith(("#", "Primary job", "Usage:")):
                return last[:160]
    return ""
