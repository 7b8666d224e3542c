"""Findings gathered from a results directory and from health findings: those that are believed, and why others are not."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, printable, utc_text
from nearfar.site import HEALTH
from nearfar.slurm.health import finding as health_finding
from nearfar.slurm.results import result, results_directory
from nearfar.slurm.sweep import pairing
from nearfar.slurm.trust import NotOurs, Trust

from . import pair_runs, refusals
from .check_run import CheckRun, seconds
from .kept_readings import MADE_UP, KeptReadings

#: Seconds that a node's clock may be ahead of this one's.
CLOCKS = 300.0


#: Seconds between the end of a run by its node's clock and the arrival of its result, from which on the clock is said to be off.
_LATE = 900.0
#: And from which on its slow figures do not count: the clock is off by a day, or the result was restored from a backup without its time.
_TOO_LATE = 86400.0


@dataclass(frozen=True)
class Gathered:
    """Check runs that are believed, and one line for each file that is not (``fixable``: one of them may count once it is fixed, which
    what belongs to others never does); ``sweeps``: the newest that are there; ``clocks``: one for each node whose clock is off;
    ``others``: hard evidence of other systems than the one that was asked for, as (system, node, run); ``future``: those lines of
    ``refused`` that say that a clock is wrong."""

    runs: tuple[CheckRun, ...]
    refused: tuple[str, ...]
    clocks: tuple[str, ...] = ()
    others: frozenset[tuple[str, str, str]] = frozenset()
    fixable: bool = False
    sweeps: tuple[str, ...] = ()
    future: frozenset[str] = frozenset()


class OfTheFuture(CouldNotJudge):
    """A result that ended later than it is."""


@dataclass(frozen=True)
class TimeRange:
    """Which results are read: all that came after ``recent`` (seconds since 1970), and of nodes with a FAIL among them, or in
    ``whole``, those after ``oldest`` too. What a node without a FAIL did before decides nothing, and is most of what there is.
    """

    oldest: float
    recent: float = 0.0
    whole: Collection[str] = ()


def gather(
    results: Path | None, health: Path | None, system: str, users: frozenset[int], now: float, times: TimeRange,
    readings: KeptReadings | None = None,
) -> Gathered:  # fmt: skip
    """All believed check runs of a system within a times.

    ``users``: whose results count; health findings count as root's alone. ``readings``: what was read of results before. Raises
    ``CouldNotJudge`` for a directory that cannot be listed, or in whose place others can put another: what is in it is not known then.
    """
    runs: list[CheckRun] = []
    refused: list[CouldNotJudge] = []
    sweeps: list[str] = []
    others: set[tuple[str, str, str]] = set()
    if results is not None:
        readings = readings or KeptReadings(results)
        found, problems, sweeps = _results(results, system, users, now, times, others, readings)
        runs, refused = runs + found, refused + problems
    if health is not None:
        found, problems = _health(health, system, now, others)
        runs, refused = runs + found, refused + problems
    return Gathered(
        tuple(runs),
        refusals.lines(refused),
        tuple(_behind(runs)),
        frozenset(others),
        refusals.fixable(refused),
        tuple(sweeps),
        frozenset(printable(str(each)) for each in refused if isinstance(each, OfTheFuture)),
    )


def of_sweep(results: Path, sweep: str, system: str, users: frozenset[int], now: float) -> Gathered:
    """All believed check runs of one sweep."""
    runs, refused, _ = _results(results, system, users, now, TimeRange(0.0), set(), KeptReadings(results), sweep)
    return Gathered(tuple(runs), refusals.lines(refused))


class _Believed:
    """Results as they are read. Only what is decided on is kept of each: a week of many nodes' verdicts is more than a host's
    memory."""

    def __init__(
        self, trust: Trust, system: str, now: float, others: set[tuple[str, str, str]], readings: KeptReadings
    ) -> None:  # fmt: skip
        self._trust, self._system, self._now, self._others, self._readings = trust, system, now, others, readings
        self._runs: dict[tuple[str, str], tuple[CheckRun, ...]] = {}
        self._said: dict[tuple[str, str], str] = {}
        self._twice: dict[tuple[str, str], Path] = {}
        self._copied: set[Path] = set()
        self._refused: list[CouldNotJudge] = []

    def read(self, place: Path) -> None:
        """Take over a result, or why it is not believed."""
        try:
            one = self._readings.read(place, self._trust, self._now)
            came = _arrival(place, one.ended)
            if one.system != self._system:
                if one.hard:
                    self._others.add((one.system, one.name, one.run))
                return
            _refuse_the_future(place / result.RESULT, one.ended, self._now)
        except CouldNotJudge as error:
            self._refused.append(error)
            return
        except (OSError, *MADE_UP) as error:
            self._refused.append(CouldNotJudge(f"{place / result.RESULT}: {_what(error)}; not counted"))
            return
        key, its = (one.name, one.run), one.sweep or ""
        if its not in ("", place.parents[2].name):
            # What lies where it says that it was measured is the original, whatever a copy elsewhere says.
            original = result.place(place.parents[3], its, place.parent.name, int(place.name))
            if self._readings.holds(original, one, self._trust, self._now):
                self._copied.add(place.parents[2])
                return
        if self._said.setdefault(key, one.said) != one.said:
            self._twice[key] = place
        if key not in self._runs:
            runs = one.check_runs(place, came)
            self._runs[key] = tuple(map(_hard_alone, runs) if came - one.ended > _TOO_LATE else runs)

    @property
    def failing(self) -> set[str]:
        """The nodes with a FAIL among what was read."""
        return {node for (node, _), runs in self._runs.items() if any(run.failures for run in runs)}

    def all(self) -> tuple[list[CheckRun], list[CouldNotJudge]]:
        """The check runs, and why other results are not among them."""
        runs = [run for key, these in self._runs.items() if key not in self._twice for run in these]
        doubtful = [
            f"{place}: run {run} of node {node} is there twice, and not alike; neither is counted"
            for (node, run), place in sorted(self._twice.items())
        ]
        copies = [
            f"{place}: holds copies of another sweep's results; those are not counted" for place in sorted(self._copied)
        ]
        return runs, [*self._refused, *map(CouldNotJudge, (*doubtful, *copies))]


def _results(
    folder: Path, system: str, users: frozenset[int], now: float, times: TimeRange, others: set[tuple[str, str, str]],
    readings: KeptReadings, sweep: str | None = None,
) -> tuple[list[CheckRun], list[CouldNotJudge], list[str]]:  # fmt: skip
    _listed(folder)
    trust = Trust(folder, users)
    trust.check_parents()
    trust.directory(folder)
    believed = _Believed(trust, system, now, others, readings)
    older = []
    sweeps, refused = results_directory.sweeps(folder, trust) if sweep is None else ([sweep], [])
    for place in (place for name in sorted(sweeps) for place in results_directory.folders(folder, name, refused)):
        came = _came(place)
        if came >= times.recent:
            believed.read(place)
        elif came >= times.oldest:
            older.append(place)
    whole = {*times.whole, *believed.failing}
    for place in older:
        if place.parent.name in whole:
            believed.read(place)
    runs, problems = believed.all()
    between, of_pairs = _pairs([folder / name for name in sorted(sweeps)], trust, system, now, times.oldest, readings)
    return [*runs, *between], [*refused, *problems, *of_pairs], sweeps


def _arrival(path: Path, ended: float) -> float:
    """When a file or directory came to be there, in seconds since 1970: its time; ``ended``, when what it speaks of was over, where
    that time is earlier by more than clocks are apart though it was put there later, as a backup leaves it that was restored without
    times. Raises ``OSError``."""
    status = path.lstat()
    restored = status.st_mtime < ended - CLOCKS and ended <= status.st_ctime
    return ended if restored else status.st_mtime


def _hard_alone(run: CheckRun) -> CheckRun:
    """A run without its slow figures."""
    return replace(run, failures=tuple(finding for finding in run.failures if finding.hard), intermittent=frozenset())


def _came(place: Path) -> float:
    """When a result was renamed or copied into place; now where that cannot be told."""
    try:
        return place.lstat().st_ctime
    except OSError:
        return inf


def _behind(runs: Iterable[CheckRun]) -> Iterator[str]:
    """A sentence for each node whose newest result came long after its end."""
    newest: dict[str, CheckRun] = {}
    for run in runs:
        if run.came is not None and (run.node not in newest or run.known > newest[run.node].known):
            newest[run.node] = run
    for node, run in sorted(newest.items()):
        late = run.known - run.ended
        if late > _LATE:
            yield (
                f"{node}: run {run.run} ended {_span(late)} before its result came, by the node's clock: set that clock, or the "
                "result was copied later; what it found counts from when it came"
                f"{', slow figures not at all' if late > _TOO_LATE else ''}"
            )


def _span(seconds: float) -> str:
    return f"{seconds / 86400:.1f} days" if seconds > 2 * 86400 else f"{seconds / 3600:.1f} hours"


def _pairs(
    sweeps: Iterable[Path], trust: Trust, system: str, now: float, oldest: float, readings: KeptReadings
) -> tuple[list[CheckRun], list[CouldNotJudge]]:  # fmt: skip
    """What the second stages of sweeps say of their nodes: all of a sweep, or nothing."""
    runs: list[CheckRun] = []
    refused: list[CouldNotJudge] = []
    for sweep in sweeps:
        path, blames = sweep / pairing.ROUNDS[0], f"MPI between the nodes of {sweep.name} blames nobody"
        if not os.path.lexists(path):
            continue
        try:
            found = pair_runs.of_sweep(sweep, trust, system, oldest, readings, now)
            for run in found:
                _refuse_the_future(path, run.ended, now)
        except NotOurs as error:
            refused.append(NotOurs(f"{error}; {blames}", error.owner))
            continue
        except NearfarError as error:
            refused.append(CouldNotJudge(f"{error}; {blames}"))
            continue
        except (OSError, *MADE_UP) as error:
            refused.append(CouldNotJudge(f"{path}: {_what(error)}; {blames}"))
            continue
        runs += found
    return runs, refused


def _what(error: Exception) -> str:
    return f"cannot be understood ({type(error).__name__}: {str(error)[:120]})"


def _listed(folder: Path) -> None:
    try:
        next(iter(folder.iterdir()), None)
    except OSError as error:
        raise CouldNotJudge(
            f"{folder}: cannot be listed: {error.strerror}; is its file system mounted? or name another directory"
        ) from None


def _health(
    folder: Path, system: str, now: float, others: set[tuple[str, str, str]]
) -> tuple[list[CheckRun], list[CouldNotJudge]]:  # fmt: skip
    """The looks of a system's nodes, however old: hard evidence stands until it is closed."""
    _listed(folder)
    trust = Trust(folder, frozenset({0}))
    trust.check_parents()
    trust.directory(folder)
    found, lines = health_finding.all_of(folder, trust)
    runs, refused = [], list(map(CouldNotJudge, lines))
    for path, one in found:
        if one.system != system:
            if any(f.hard and f.verdict == "FAIL" for f in one.findings):
                others.add((one.system or "", one.node, one.run))
            continue
        try:
            at = seconds(one.time)
            came = _arrival(path, at)
            _refuse_the_future(path, at, now)
        except (CouldNotJudge, OSError) as error:
            refused.append(error if isinstance(error, CouldNotJudge) else CouldNotJudge(str(error)))
            continue
        except ValueError:
            refused.append(CouldNotJudge(f"{path}: {one.time} is no time; not counted"))
            continue
        failures = tuple(f for f in one.findings if f.verdict == "FAIL")
        runs.append(CheckRun(one.node, HEALTH, one.run, at, at, one.verdict, failures, source=str(path), came=came))
    return runs, refused


def _refuse_the_future(path: Path, ended: float, now: float) -> None:
    if ended > now + CLOCKS:
        when = utc_text(ended)
        raise OfTheFuture(f"{path}: of {when}, which is not yet; set the node's clock, or this host's; not counted")
