"""``nearfar slurm act``: the one process that does anything about a node, on an admin host, under a lock."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, SiteFile, files, nearest, site_directories, site_files
from nearfar.site import HEALTH, MPI_PAIRS, Policy, drain_policy
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.findings import (
    CLOCKS,
    ActLog,
    CheckRun,
    LogSummary,
    SlurmView,
    TimeRange,
    drained_by_others,
    drains_seen,
    gather,
    log_line,
    our_comment,
    our_reason,
    reasons,
    reconciled,
    resumed_by_others,
    summarize,
)
from nearfar.slurm.health import kept_looks
from nearfar.slurm.results import Trust

from .decide import NOTHING, Decision, Decisions, decide
from .last_read import LastRead
from .node_updates import carry_out
from .quarantine import recover

#: Where the lock and the log are, unless the caller names another directory.
STATE = Path("/var/lib/nearfar/act")
#: Seconds to wait for another ``act``.
_PATIENCE = 10.0


@dataclass(frozen=True)
class ActOptions:
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
class ActView:
    """All that the decisions were made from, and them. ``refused``: a line for each file that was not believed; ``clocks``: one
    for each node whose clock is off; ``unheard``: one for each other system whose hard evidence no policy speaks of.
    ``recent``: from when on all results were read."""

    nodes: dict[str, NodeState]
    past: LogSummary
    refused: Sequence[str]
    decisions: Decisions
    runs: Sequence[CheckRun]
    now: float
    clocks: Sequence[str] = ()
    unheard: Sequence[str] = ()
    recent: float = 0.0


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
        which = f"{', '.join(opened)} have one" if opened else "none has one; docs/guide/slurm-act.md shows it"
        raise NearfarError(f"which system's `act`? {which}; name the system: --system NAME")
    file = next(iter(opened.values()))
    file.check("system-1")
    return drain_policy.of_system(file, _checks())


def _checks() -> list[str]:
    from nearfar.question import catalogue

    folders = catalogue.folders(files.CHECKOUT / catalogue.CHECKS)
    return [check.name for folder in folders for check in catalogue.read(folder)]


def look(order: ActOptions, slurm: Slurm, now: float | None = None, asked: str | None = None) -> ActView:
    """Read everything and decide; nothing is written, and no rights are needed. ``asked``: a node of which all is wanted.

    Raises ``NearfarError`` for whatever is unreadable: the log, the results, slurmctld, a clock that was set back.
    """
    now = time.time() if now is None else now
    entries = ActLog(order.state).entries()
    if entries and entries[-1].at > now + CLOCKS:
        raise CouldNotJudge(f"{order.state}: the log's last line is later than this host's clock; set the clock first")
    nodes = slurm.nodes()
    before = reconciled(summarize(entries, order.policy.system), SlurmView(nodes, slurm.started))
    window = _window(order, nodes, before, entries[-1].at if entries else now, now, asked)
    found = gather(order.results, order.health, order.policy.system, order.policy.trusted, now, window)
    decisions = decide(found.runs, nodes, order.policy, before, now)
    unheard = tuple(_unheard(found.others, nodes))
    return ActView(nodes, before, found.refused, decisions, found.runs, now, found.clocks, unheard, window.recent)


def _unheard(others: Collection[tuple[str, str, str]], nodes: Mapping[str, NodeState]) -> Iterator[str]:
    """A line for each other system with hard evidence on nodes of this Slurm, unless its own file has an ``act``."""
    files_ = site_files("systems", site_directories())
    for system in sorted({system for system, node, _ in others if node in nodes}):
        if system in files_ and "act" in (SiteFile(files_[system]).data or {}):
            continue
        these = sorted({node for name, node, _ in others if name == system and node in nodes})
        why = "no system file is called so" if system not in files_ else f"{files_[system]} has no `act`"
        of, why = (f"of system '{system}'", why) if system else ("of no system", "no system file claims these nodes")
        yield f"{node_names.fold(these)}: hard evidence {of}, which nothing is done about: {why}"


def _window(
    order: ActOptions, nodes: Mapping[str, NodeState], before: LogSummary, logged: float, now: float, asked: str | None
) -> TimeRange:
    """What is read: all that came since the last call that read it all (hard evidence never grows too old to be seen), and of
    nodes that something is known of also what is older. ``logged``: when something was written into the log last."""
    policy = order.policy
    oldest = now - policy.max_age - policy.confirm_within
    open_ = [one.found_by.known for these in before.evidence.values() for one in these]
    ours = {name for name, node in nodes.items() if our_reason(node) is not None or our_comment(node) is not None}
    whole = {*ours, *before.drained, *before.evidence, *([asked] if asked else [])}
    last = LastRead(order.state).of(order)
    recent = min(oldest, logged) if last is None or last > now else min(last, now - policy.max_age) - CLOCKS
    return TimeRange(min([oldest, recent, *(d.at for d in before.drained.values()), *open_]), recent, whole)


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
class ActResult:
    """Every decision that was to be carried out, with why it was not (None: it was). ``recovered``: interrupted retests that
    were ended; ``unclear``: those that could not be."""

    decisions: Sequence[tuple[Decision, str | None]]
    recovered: Sequence[str] = ()
    unclear: Sequence[str] = ()

    @property
    def problems(self) -> dict[str, str | None]:
        """By node."""
        return {decision.node: problem for decision, problem in self.decisions}


def run(order: ActOptions, slurm: Slurm) -> tuple[ActView, ActResult]:
    """End what an earlier process left open, decide, and do it."""
    state = prepare(order.state)
    with locked(state):
        journal = ActLog(state)
        recovered, unclear = recover(summarize(journal.entries()), slurm, journal)
        view = look(order, slurm)
        _write_down(view, order.policy.system, journal)
        # What was refused may be believed once it is mended, and came before.
        LastRead(state).note(order, view.recent if view.refused else view.now)
        kept_looks.forget(_recorded_looks(view.runs))
        if view.decisions.latch is not None:
            journal.note("latch", time.time(), why=view.decisions.latch)
        done = []
        for decision in view.decisions.nodes:
            if decision.action != NOTHING:
                done.append((decision, carry_out(decision, slurm, journal)))
    return view, ActResult(done, recovered, unclear)


def _write_down(view: ActView, system: str, journal: ActLog) -> None:
    """What was found and seen, before anything is done about it: results may be gone tomorrow, the log is not."""
    written: dict[tuple[object, ...], str] = {}
    for name, hard in sorted(view.decisions.hard.items()):
        for one in hard.new:
            written[one.key] = journal.note("evidence", time.time(), name, **log_line(one), system=system).id
    for name in drained_by_others(
        view.nodes, {name: hard.open for name, hard in view.decisions.hard.items()}, view.past
    ):
        journal.note("drained_by_others", time.time(), name, since=view.now, reason=view.nodes[name].reason)
    for name in resumed_by_others(view.nodes, view.past):
        journal.note("resumed_by_others", time.time(), name)
    for name in drains_seen(view.nodes, view.past, view.now):
        journal.note("drain_seen", time.time(), name)
    for name, hard in sorted(view.decisions.hard.items()):
        for each in hard.closed:
            assert each.closed_by is not None
            journal.note(
                "closed", time.time(), name, evidence=[each.id or written[each.key]], until=each.answered_until, run=each.closed_by.run,
                why=f"repaired, and run {each.closed_by.run} passed",
            )  # fmt: skip


def _recorded_looks(runs: Sequence[CheckRun]) -> Iterator[Path]:
    """The health findings of which the log has everything now."""
    for run in runs:
        if run.check == HEALTH and all(finding.hard for finding in run.failures):
            yield Path(run.source)


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """The only process that does anything about nodes."""
    with files.lock(state / "lock", _PATIENCE):
        yield


def reset_latch(state: Path, because: str) -> str:
    """Open the latch on a person's word; what had closed it."""
    place = prepare(state)
    with locked(place):
        journal = ActLog(place)
        closed = summarize(journal.entries()).latched
        if closed is None:
            raise NearfarError("the latch is open: nothing is held")
        journal.note("reset_latch", time.time(), why=because)
    return closed


def clear(order: ActOptions, node: str, because: str, slurm: Slurm) -> str:
    """Write down a person's word that a node has been seen to: hard evidence that was known until now is closed. Returns what
    follows, in words: one that is drained by us still has to pass.

    Raises ``NearfarError`` for a node that neither Slurm nor the log knows.
    """
    place = prepare(order.state)
    with locked(place):
        journal = ActLog(place)
        before = summarize(journal.entries())
        state = slurm.nodes().get(node)
        if state is None and node not in before.evidence:
            raise NearfarError(f"{node}: Slurm has no such node, and the log knows nothing of it")
        ours = None if state is None else our_reason(state)
        more: dict[str, Any] = {}
        if state is not None and state.drain and ours is not None:
            known = before.drained.get(node)
            if known is None or not ours.same(reasons.find(known.reason)):
                names = (HEALTH, MPI_PAIRS, *_checks())
                check = next((name for name in names if name.removesuffix("_check") == ours.check), ours.check)
                more = {"reason": state.reason, "check": check}
        journal.note("clear", time.time(), node, why=because, **more)
    if state is not None and state.drain and ours is not None:
        return f"it is resumed once the check that drained it has passed: nearfar slurm act --retest {node}"
    closed = len(before.evidence.get(node, ()))
    found = (
        f"{closed} finding{'s are' if closed != 1 else ' is'} closed" if closed else "no hard finding of it was open"
    )
    return f"{found}, slow figures from before count no more; what is found from now on counts"
