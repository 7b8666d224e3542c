"""``nearfar slurm act``: the one process that does anything about a node, on an admin host, under a lock."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nearfar import files, ladder
from nearfar.errors import CouldNotJudge, NearfarError
from nearfar.ladder import HEALTH, MPI_PAIRS, Policy
from nearfar.sitefile import SiteFile, nearest, site_directories, site_files
from nearfar.slurm.carry_out import carry_out
from nearfar.slurm.decide import NOTHING, Decision, Decisions, decide
from nearfar.slurm.gather import CLOCKS, Window, gather
from nearfar.slurm.journal import Journal, past
from nearfar.slurm.node_state import NodeState
from nearfar.slurm.objections import is_ours
from nearfar.slurm.observed import CheckRun, Past
from nearfar.slurm.quarantine import recover
from nearfar.slurm.scontrol import Slurm
from nearfar.slurm.trust import Trust

#: Where the lock and the log are, unless the caller names another directory.
STATE = Path("/var/lib/nearfar/act")
#: Seconds to wait for another ``act``.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Order:
    """What a call looks at: the results of sweeps, the health findings, and the directory of the lock and the log."""

    policy: Policy
    results: Path | None
    health: Path | None
    state: Path = STATE

    def __post_init__(self) -> None:
        """What is logged names whole paths."""
        for name in ("results", "health", "state"):
            path = getattr(self, name)
            object.__setattr__(self, name, None if path is None else path.absolute())


@dataclass(frozen=True)
class View:
    """All that the decisions were made from, and them. ``refused``: a line for each file that was not believed."""

    nodes: dict[str, NodeState]
    past: Past
    refused: Sequence[str]
    decisions: Decisions
    runs: Sequence[CheckRun]
    now: float


def read_policy(name: str | None) -> Policy:
    """The policy of a system: the one named, else the only one whose file has an ``act``."""
    found = site_files("systems", site_directories())
    opened = {}
    for system, path in found.items():
        if name in (None, system):
            file = SiteFile(path)
            if name is not None or "act" in (file.data or {}):
                opened[system] = file
    if name is not None and not opened:
        raise NearfarError(f"--system: no system file called '{name}'{nearest(name, list(found))}")
    if len(opened) != 1:
        which = f"{', '.join(opened)} have one" if opened else "none has one; docs/slurm-act.md shows it"
        raise NearfarError(f"which system's `act`? {which}; name the system: --system NAME")
    file = next(iter(opened.values()))
    file.check("system-1")
    return ladder.of_system(file, _checks())


def _checks() -> list[str]:
    from nearfar import catalogue

    folders = catalogue.folders(files.CHECKOUT / catalogue.CHECKS)
    return [check.name for folder in folders for check in catalogue.read(folder)]


def look(order: Order, slurm: Slurm, now: float | None = None, asked: str | None = None) -> View:
    """Read everything and decide; nothing is written, and no rights are needed. ``asked``: a node of which all is wanted.

    Raises ``NearfarError`` for whatever is unreadable: the log, the results, slurmctld, a clock that was set back.
    """
    now = time.time() if now is None else now
    entries = Journal(order.state).entries()
    if entries and entries[-1].at > now + CLOCKS:
        raise CouldNotJudge(f"{order.state}: the log's last line is later than this host's clock; set the clock first")
    before = past(entries)
    nodes = slurm.nodes()
    oldest = min([now - order.policy.max_age - order.policy.confirm_within, *(d.at for d in before.drained.values())])
    whole = {name for name, node in nodes.items() if is_ours(node.reason) or is_ours(node.comment)}
    window = Window(oldest, now - order.policy.max_age - CLOCKS, {*whole, *before.drained, *([asked] if asked else [])})
    found = gather(order.results, order.health, order.policy.system, order.policy.trusted, now, window)
    return View(nodes, before, found.refused, decide(found.runs, nodes, order.policy, before, now), found.runs, now)


def prepare(state: Path) -> Path:
    """The state directory, made where it is missing; raises ``NearfarError`` unless it is this user's or root's alone."""
    files.make_directory(state, "name another --state DIR")
    place = state.resolve()
    try:
        Trust(Path("/"), {0, os.geteuid()}).directory(place)
    except CouldNotJudge as error:
        raise NearfarError(
            f"{str(error).removesuffix('; not counted')}; the log decides over nodes: name another --state DIR"
        ) from None
    if place.stat().st_mode & 0o022:
        raise NearfarError(f"{place}: others can write to it; the log decides over nodes: name another --state DIR")
    if not os.access(place, os.W_OK):
        raise NearfarError(f"{place}: this user cannot write there, or nobody can; name another --state DIR")
    return place


@dataclass(frozen=True)
class Done:
    """Every decision that was to be carried out, with why it was not (None: it was). ``recovered``: interrupted retests that
    were ended; ``unclear``: those that could not be."""

    decisions: Sequence[tuple[Decision, str | None]]
    recovered: Sequence[str] = ()
    unclear: Sequence[str] = ()

    @property
    def problems(self) -> dict[str, str | None]:
        """By node."""
        return {decision.node: problem for decision, problem in self.decisions}


def run(order: Order, slurm: Slurm) -> tuple[View, Done]:
    """End what an earlier process left open, decide, and do it."""
    state = prepare(order.state)
    with locked(state):
        journal = Journal(state)
        recovered, unclear = recover(past(journal.entries()), slurm, journal)
        view = look(order, slurm)
        done = []
        for decision in view.decisions.nodes:
            if decision.action != NOTHING:
                done.append((decision, carry_out(decision, slurm, journal)))
        if view.decisions.latch is not None:
            journal.note("latch", time.time(), why=view.decisions.latch)
    return view, Done(done, recovered, unclear)


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """The only process that does anything about nodes."""
    with files.lock(state / "lock", _PATIENCE):
        yield


def reset_latch(state: Path, because: str) -> str:
    """Open the latch on a person's word; what had closed it."""
    place = prepare(state)
    with locked(place):
        journal = Journal(place)
        closed = past(journal.entries()).latched
        if closed is None:
            raise NearfarError("the latch is open: nothing is held")
        journal.note("reset_latch", time.time(), why=because)
    return closed


def clear(order: Order, node: str, because: str, slurm: Slurm) -> None:
    """Write down a person's word that a node drained for hard evidence has been seen to; it still has to pass."""
    from nearfar.slurm import reasons

    place = prepare(order.state)
    with locked(place):
        state, journal = slurm.node(node), Journal(place)
        reason = reasons.read(state.reason)
        if not state.drain or reason is None:
            shown = f"'{state.reason}'" if state.reason else "no reason"
            raise NearfarError(f"{node}: it is {state.words} with {shown}: there is no drain of ours to clear")
        check = next(
            (name for name in (HEALTH, MPI_PAIRS, *_checks()) if name.removesuffix("_check") == reason.check),
            reason.check,
        )
        known = past(journal.entries()).drained.get(node)
        more = {} if known is not None and known.reason == state.reason else {"reason": state.reason, "check": check}
        journal.note("clear", time.time(), node, why=because, **more)
