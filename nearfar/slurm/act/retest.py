"""``nearfar slurm retest``: a quarantine whose measuring is a sweep inside the reservation."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import NearfarError, process, user_name
from nearfar.question import QUICK, covering_health, find
from nearfar.site import HEALTH, MPI_PAIRS
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.findings import ActLog, CheckRun, SlurmView, deaths, of_sweep, reconciled, summarize
from nearfar.slurm.sweep import CHOICES, LEVELS, PAIR, Level, occupation, pairing, sweep_file
from nearfar.slurm.trust import Trust, on_behalf

from . import quarantine
from .options import ActOptions
from .state_directory import locked, prepare

#: Seconds that a sweep takes beside its jobs: submissions, the merge.
_BESIDE = 900.0


def _longest(level: str) -> float:
    """Seconds that a sweep of a level may take, its pairs of nodes included."""
    rounds = len(pairing.ROUNDS) if LEVELS[level].pairs else 0
    return (LEVELS[level].minutes + rounds * LEVELS[PAIR].minutes) * 60 + _BESIDE


@dataclass(frozen=True)
class RetestOptions:
    """``nodes`` as Slurm lists them; ``delivered``: the exact reason that others drained new nodes with; ``beside``: idle
    nodes for MPI between nodes, which takes two."""

    nodes: str
    level: str
    partition: str | None
    delivered: str | None
    beside: str | None = None


def run(
    request: RetestOptions, options: ActOptions, slurm: Slurm, tell: Callable[[str], None]
) -> quarantine.RetestResult:
    """Test nodes again. Raises ``NearfarError`` where one may not be, or where anything is unclear: all are drained then."""
    if options.results is None:
        raise NearfarError("a retest needs the directory that its results go to: --results DIR")
    user = _measures(options.results, options.state)
    if user not in options.policy.trusted:
        raise NearfarError(
            f"the results of {user_name(user)} do not count: add it to `act: trusted` of system '{options.policy.system}'"
        )
    Trust(options.results, options.policy.trusted).check_parents()
    level = LEVELS[request.level]
    state = prepare(options.state)
    with locked(state):
        log = ActLog(state)
        for lines in quarantine.recover(summarize(log.entries()), slurm, log):
            for line in lines:
                tell(line)
        nodes = slurm.nodes()
        before = reconciled(
            summarize(log.entries(), options.policy.system, time.time()), SlurmView(nodes, slurm.started)
        )
        nodes = deaths.with_our_reasons(nodes, before)
        these = quarantine.suspects(
            node_names.listed(request.nodes, "NODES"), nodes, before, options.policy, request.delivered
        )
        for suspect in these:
            if suspect.drained is not None and not _asks(level, suspect.drained.check):
                which = ", ".join(name for name in CHOICES if _asks(LEVELS[name], suspect.drained.check)) or "none"
                why = f"{suspect.node} was drained for {suspect.drained.check}, which it does not ask"
                raise NearfarError(f"--level {request.level}: {why}; levels that do: {which}")
        beside = _idle(request.beside, {suspect.node for suspect in these}, nodes)
        partition = request.partition or _partition([nodes[name] for name in (*(s.node for s in these), *beside)])

        def measure(names: Sequence[str], reservation: str) -> Sequence[CheckRun]:
            return _sweep(request.level, partition, names, reservation, options, tell)

        return quarantine.retest(these, options.policy, slurm, log, measure, beside, user)


def _measures(results: Path, state: Path) -> int:
    """The user whose sweep measures: the owner of the results, where that is this user or root calls, who can start it as that one.

    Raises ``NearfarError``, before any node is touched, for a directory of somebody else's: the sweep would refuse it."""
    here, owner, log = os.geteuid(), on_behalf.owner(results), on_behalf.owner(state)
    if owner is None or here in (0, owner):  # the sweep makes one that is missing
        return here if owner is None else owner
    name, other = user_name(owner), "or name a directory of your own that the nodes share: --results DIR"
    if log in (None, 0, owner):
        right = 0 if log == 0 else owner
        raise NearfarError(
            f"{results}: belongs to {name}: type it as {user_name(right)} ({on_behalf.typed_as(right)}), {other}"
        )
    raise NearfarError(
        f"{results}: belongs to {name}, and {state} to {user_name(log)}: one user has to own both, or root the log: "
        f"chown -R root {shlex.quote(str(state))} && nearfar slurm install --act-user=root --apply; {other}"
    )


def _asks(level: Level, check: str) -> bool:
    """Whether a level asks what a node was drained for, so that it can be released."""
    if check == MPI_PAIRS:
        return level.pairs
    levels = () if (question := find(check)) is None else question.levels
    if level.quick or levels == (QUICK,):
        return level.quick and QUICK in levels
    return not level.checks or (covering_health() if check == HEALTH else check) in level.checks


def _idle(wanted: str | None, suspects: Collection[str], nodes: Mapping[str, NodeState]) -> list[str]:
    """The nodes to be measured beside suspects. Raises ``NearfarError`` for one that is not idle."""
    names = [] if wanted is None else node_names.listed(wanted, "--beside")
    for name in names:
        if name not in nodes:
            raise NearfarError(f"--beside {name}: Slurm has no such node")
        why = "to be tested again itself" if name in suspects else occupation(nodes[name])
        if why is not None:
            raise NearfarError(f"--beside {name}: it is {why}; name an idle node")
    return names


def _partition(nodes: Sequence[NodeState]) -> str:
    common = set(nodes[0].partitions).intersection(*(node.partitions for node in nodes))
    if len(common) != 1:
        which = ", ".join(sorted(common)) or "none has them all"
        raise NearfarError(f"which partition ({which})? --partition P")
    return common.pop()


def _sweep(
    level: str,
    partition: str,
    names: Sequence[str],
    reservation: str,
    options: ActOptions,
    tell: Callable[[str], None],
) -> Sequence[CheckRun]:
    assert options.results is not None
    sweep = time.strftime("%Y%m%dT%H%M%S-retest", time.gmtime())
    command = [
        sys.executable, "-m", "nearfar", "slurm", "sweep", f"--partition={partition}", f"--nodes={node_names.fold(names)}",
        f"--reservation={reservation}", f"--level={level}", f"--results={options.results}", f"--name={sweep}",
    ]  # fmt: skip
    # Killed, this process leaves nobody that measures or holds the results directory.
    environment = {**os.environ, sweep_file.PARENT: str(os.getpid())}
    done = process.run(command, _longest(level), env=environment, on_stderr=tell, on_stdout=tell)
    if done.timed_out:
        tell(f"the sweep {sweep} did not end in time; its jobs are cancelled")
    found = of_sweep(options.results, sweep, options.policy.system, options.policy.trusted, time.time())
    for line in found.refused:
        tell(line)
    return found.runs
