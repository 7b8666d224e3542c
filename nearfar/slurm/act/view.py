"""Everything that ``nearfar slurm act`` decides from, read at once, and the decisions: nothing is written."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nearfar.base import CouldNotJudge, SiteFile, site_directories, site_files
from nearfar.slurm.controller import NodeState, Slurm, node_names
from nearfar.slurm.findings import (
    CLOCKS,
    ActLog,
    CheckRun,
    Entry,
    KeptReadings,
    LogSummary,
    SlurmView,
    TimeRange,
    deaths,
    gather,
    our_comment,
    our_reason,
    reconciled,
    summarize,
)  # fmt: skip
from nearfar.slurm.results import result

from .decide import decide
from .decision import Decisions
from .last_read import LastRead
from .options import ActOptions
from .state_directory import CLOCK_SET_BACK


@dataclass(frozen=True)
class ActView:
    """All that the decisions were made from, and them. ``refused``: a line for each file that was not believed; ``clocks``: one
    for each node whose clock is off; ``other_systems``: one for each whose hard evidence no policy speaks of; ``future``: those
    of ``refused`` that say that a clock is wrong.
    ``until``: all results that came until then are read; ``sweeps``: the newest that hold some; ``readings``: what was read of them,
    to be kept for the next call. ``trouble``: why Slurm could not be asked, so that ``nodes`` is empty (None: it could)."""

    nodes: dict[str, NodeState]
    past: LogSummary
    refused: Sequence[str]
    decisions: Decisions
    runs: Sequence[CheckRun]
    now: float
    clocks: Sequence[str] = ()
    other_systems: Sequence[str] = ()
    until: float = 0.0
    sweeps: Sequence[str] = ()
    readings: KeptReadings | None = None
    future: frozenset[str] = frozenset()
    trouble: str | None = None


def look(
    options: ActOptions, slurm: Slurm, now: float | None = None, asked_for: Collection[str] = (),
    nodes: dict[str, NodeState] | None = None,
) -> ActView:  # fmt: skip
    """Read everything and decide; nothing is written, and no rights are needed. ``asked_for``: nodes of which all is wanted; ``nodes``:
    all of them as Slurm has just shown them, at ``now``.

    Raises ``NearfarError`` for whatever is unreadable: the log, the results, slurmctld, a clock that was set back.
    """
    now, entries = _log(options, now)
    nodes = slurm.nodes() if nodes is None else nodes
    before = reconciled(summarize(entries, options.policy.system, now), SlurmView(nodes, slurm.started))
    nodes = deaths.with_our_reasons(nodes, before)
    return _decided(options, entries, nodes, before, now, asked_for)


def without_slurm(options: ActOptions, trouble: str, asked_for: Collection[str] = ()) -> ActView:
    """What the log and the results say where slurmctld does not answer (``trouble``): no node has a state, and no decision is one to
    be carried out. Raises as ``look`` does."""
    now, entries = _log(options, None)
    before = summarize(entries, options.policy.system, now)
    return replace(_decided(options, entries, {}, before, now, asked_for), trouble=trouble)


def _log(options: ActOptions, now: float | None) -> tuple[float, list[Entry]]:
    now = time.time() if now is None else now
    entries = ActLog(options.state).entries()
    if entries and entries[-1].at > now + CLOCKS:
        raise CouldNotJudge(f"{options.state}: {CLOCK_SET_BACK}")
    return now, entries


def _decided(
    options: ActOptions,
    entries: Sequence[Entry],
    nodes: dict[str, NodeState],
    before: LogSummary,
    now: float,
    asked_for: Collection[str],
) -> ActView:
    last = LastRead(options.state).of(options)
    last = None if last is not None and last > now else last
    times = _time_range(options, nodes, before, entries[-1].at if entries else now, now, asked_for, last)
    policy, results = options.policy, options.results
    with result.many():
        readings = None if results is None else KeptReadings(results, options.readings)
        found = gather(results, options.health, policy.system, policy.trusted, now, times, readings)
        LastRead(options.state).check_mounted(options)
        decisions = decide(found.runs, nodes, policy, before, now)
    other_systems = tuple(_evidence_of_other_systems(found.others, nodes))
    # What is fixed later came before: all of it is read again then.
    until = now if not found.fixable else times.recent if last is None else last
    return ActView(
        nodes,
        before,
        found.refused,
        decisions,
        found.runs,
        now,
        found.clocks,
        other_systems,
        until,
        found.sweeps,
        readings,
        found.future,
    )


def _evidence_of_other_systems(
    others: Collection[tuple[str, str, str]], nodes: Mapping[str, NodeState]
) -> Iterator[str]:
    """A line for each other system with hard evidence on nodes of this Slurm, unless its own file has an ``act``."""
    files_ = site_files("systems", site_directories())
    for system in sorted({system for system, node, _ in others if node in nodes}):
        if system in files_ and "act" in (SiteFile(files_[system]).data or {}):
            continue
        these = sorted({node for name, node, _ in others if name == system and node in nodes})
        why = "no system file is called so" if system not in files_ else f"{files_[system]} has no `act`"
        of, why = (f"of system '{system}'", why) if system else ("of no system", "no system file claims these nodes")
        yield f"{node_names.fold(these)}: hard evidence {of}, which nothing is done about: {why}"


def _time_range(
    options: ActOptions,
    nodes: Mapping[str, NodeState],
    before: LogSummary,
    logged: float,
    now: float,
    asked_for: Collection[str],
    last: float | None,
) -> TimeRange:
    """What is read: all that came since the last call that read it all (hard evidence never grows too old to be seen), and of
    nodes that something is known of also what is older. ``logged``: when something was written into the log last; ``last``: until
    when all has been read (None: not known)."""
    policy = options.policy
    oldest = now - policy.max_age - policy.look_back
    open_ = [one.found_by.known for these in before.evidence.values() for one in these]
    ours = {name for name, node in nodes.items() if our_reason(node) is not None or our_comment(node) is not None}
    whole = {*ours, *before.drained, *before.evidence, *asked_for}
    recent = (
        min(now - policy.max_age - policy.confirm_within, logged)
        if last is None
        else min(last, now - policy.max_age) - CLOCKS
    )
    return TimeRange(min([oldest, recent, *(d.at for d in before.drained.values()), *open_]), recent, whole)
