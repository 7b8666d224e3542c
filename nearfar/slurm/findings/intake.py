"""New results and health findings taken into the ledger: each once, those that are believed; a line for each that is not.

A result is known by its place (``SWEEP/nodes/NODE/ATTEMPT``), a health finding by its file and run. A merged sweep whose results were all
taken in, and in which nothing has changed for two days, is not listed again; what was measured by hand (no ``sweep.json``) always is.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nearfar.base import (
    MADE_UP,
    CouldNotJudge,
    Finding,
    SiteFile,
    printable,
    site_directories,
    site_files,
    utc_text,
)
from nearfar.site import HEALTH, Policy
from nearfar.slurm.health import finding_files
from nearfar.slurm.ledger import CheckRun, Ledger, Past, add_run, seconds
from nearfar.slurm.results import NodeResult, result, results_directory
from nearfar.slurm.sweep import sweep_file
from nearfar.slurm.trust import NotOurs, Trust

#: Seconds that a node's clock may be ahead of this host's.
CLOCKS = 300.0
#: Seconds between the end of a run by its node's clock and the arrival of its result, from which on the clock is called wrong.
_LATE = 900.0
#: And from which on its slow figures do not count: the clock is off by a day, or the result was restored without its time.
_TOO_LATE = 86400.0
#: Seconds without a change after which a sweep is not listed again.
_QUIET = 2 * 86400.0
#: And from which on no job of a sweep that nobody has merged is waited for.
_ABANDONED = 30 * 86400.0
#: So many lines name one user's files.
_LINES = 10


@dataclass
class Intake:
    """What was not taken in: a line for each file that is not believed, and for each node whose clock is off."""

    refused: list[CouldNotJudge] = field(default_factory=list)
    clocks: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def refusing(self, path: Path) -> Iterator[None]:
        """Of what goes wrong with a file, a line."""
        try:
            yield
        except CouldNotJudge as error:
            self.refused.append(error)
        except (*MADE_UP, OSError) as error:
            why = f"{type(error).__name__}: {str(error)[:120]}"
            self.refused.append(CouldNotJudge(f"{path}: cannot be understood ({why}); not counted"))

    @property
    def lines(self) -> list[str]:
        """The lines about files; of one user's no more than a few. A name from the file system begins no line and moves no cursor."""
        found, owners = [], Counter[int]()
        for error in self.refused:
            owner = error.owner if isinstance(error, NotOurs) else None
            if owner is not None:
                owners[owner] += 1
                if owners[owner] > _LINES:
                    continue
            found.append(printable(str(error)))
        more = {user: count - _LINES for user, count in sorted(owners.items()) if count > _LINES}
        return [*found, *(f"{count} more of user {user}; not counted" for user, count in more.items())]


def take_in(
    ledger: Ledger, past: Past, policy: Policy, results: Path | None, health: Path | None, cluster: str | None, now: float,
) -> Intake:  # fmt: skip
    """Take in what is new. ``cluster``: whose results count (None: any). Raises ``CouldNotJudge`` for a directory that cannot be listed,
    or that others can put another in the place of: what is in it is not known then."""
    found = Intake()
    if results is not None:
        with ledger.transaction():
            _Results(ledger, past, policy, results, cluster, now, found).read()
    if health is not None:
        with ledger.transaction():
            taken = _read_health(ledger, past, policy, health, now, found)
        if ledger.lasts:
            finding_files.forget(taken)
    return found


def runs_of_sweep(results: Path, sweep: str, policy: Policy, now: float) -> tuple[list[CheckRun], list[str]]:
    """All believed check runs of one sweep, and a line for each result that is not believed."""
    ledger, found = Ledger.in_memory(), Intake()
    with ledger:
        reader = _Results(ledger, Past(), policy, results, None, now, found)
        reader.read([sweep])
    return reader.runs, found.lines


class _Results:
    def __init__(
        self, ledger: Ledger, past: Past, policy: Policy, folder: Path, cluster: str | None, now: float, found: Intake
    ) -> None:
        self._ledger, self._past, self._policy, self._folder = ledger, past, policy, folder
        self._cluster, self._now, self._found = cluster, now, found
        self._trust = Trust(folder, policy.trusted)
        #: Of the systems whose results lie here, whether another act takes them in.
        self._others: dict[str, bool] = {}
        #: What was taken in, in this call.
        self.runs: list[CheckRun] = []

    def read(self, sweeps: Sequence[str] | None = None) -> None:
        """Take in what is new of some sweeps (None: of all)."""
        _check_listed(self._folder)
        self._trust.check_parents()
        self._trust.directory(self._folder)
        if sweeps is None:
            sweeps, refused = results_directory.sweeps(self._folder, self._trust)
            self._found.refused += refused
            self._check_mounted(sweeps)
        for sweep in sorted(sweeps):
            with self._found.refusing(self._folder / sweep):
                self._sweep(sweep)

    def _sweep(self, sweep: str) -> None:
        place = self._key(self._folder / sweep)
        stamp, changed = _stamp(self._folder / sweep)
        if self._known(place) == stamp:
            return
        before, known = len(self._found.refused), _taken_below(self._ledger, place)
        for result_place in results_directory.folders(self._folder, sweep, self._found.refused):
            if self._key(result_place) not in known:
                with self._found.refusing(result_place / result.RESULT):
                    self._result(result_place, sweep)
        quiet = self._now - changed > _QUIET and len(self._found.refused) == before
        swept = os.path.lexists(self._folder / sweep / sweep_file.FILE)
        if quiet and swept and self._over(self._folder / sweep, changed):
            self._taken(place, stamp)

    def _over(self, sweep: Path, changed: float) -> bool:
        """Whether no job leaves a result any more. A second attempt at a node changes neither the sweep's file nor its list of nodes."""
        if self._now - changed > _ABANDONED:
            return True
        with suppress(CouldNotJudge):  # what is no sweep's file is nobody's word: it is listed again
            return bool(self._trust.object(sweep / sweep_file.FILE).get("merged"))
        return False

    def _key(self, path: Path) -> str:
        """What the ledger calls a place: what one system's act has read, another's has not."""
        return f"{self._policy.system}:{path}"

    def _known(self, key: str) -> str | None:
        rows = self._ledger.rows("SELECT stamp FROM taken WHERE place = ?", key)
        return str(rows[0]["stamp"]) if rows else None

    def _taken(self, place: str, stamp: str) -> None:
        self._ledger.write("INSERT OR REPLACE INTO taken VALUES (?, ?)", place, stamp)

    def _result(self, place: Path, sweep: str) -> None:
        one = result.read(place, self._trust)
        path = place / result.RESULT
        if one.system not in self._others:
            self._others[one.system] = one.system != self._policy.system and has_act(one.system)
        if self._others[one.system]:
            self._taken(self._key(place), f"of {one.system}")  # its own act takes it in, by whom that trusts
            return
        # What lies where it was measured is the original, whatever this one says.
        if one.sweep not in (None, sweep) and self._original(one, int(place.name)):
            self._taken(self._key(place), "a copy")
            return
        ended = seconds(one.ended)
        came = min(_arrival(place, ended), self._now)  # whatever the file server's clock says, it is there
        _refuse_the_future(path, ended, self._now)
        its = one.slurm["cluster"] if one.slurm is not None else None
        if None not in (its, self._cluster) and its != self._cluster:
            raise CouldNotJudge(f"{path}: measured in cluster {its}, this is {self._cluster}; not counted")
        said = f"{one.started} {one.ended} {sorted((check.check, check.verdict) for check in one.checks)}"
        key = f"run:{one.name}:{one.run}"
        before = self._known(key)
        if before not in (None, said):
            words = f"run {one.run} of node {one.name} is there twice, and not alike; the first counts"
            raise CouldNotJudge(f"{place}: {words}")
        if before is None:
            self._add(one, came, ended)
            self._taken(key, said)
        self._taken(self._key(place), key)

    def _original(self, one: NodeResult, attempt: int) -> bool:
        place = result.place(self._folder, str(one.sweep), one.name, attempt)
        with suppress(CouldNotJudge):
            return result.read(place, self._trust).run == one.run
        return False

    def _add(self, one: NodeResult, came: float, ended: float) -> None:
        late = came - ended
        if late > _LATE:
            span = f"{late / 86400:.1f} days" if late > 2 * 86400 else f"{late / 3600:.1f} hours"
            slow = ", slow figures not at all" if late > _TOO_LATE else ""
            self._found.clocks[one.name] = (
                f"{one.name}: run {one.run} ended {span} before its result came, by the node's clock: set that clock, or the "
                f"result was copied later; what it found counts from when it came{slow}"
            )
        for check in (*one.undone, *one.checks):
            run = replace(check, came=came)
            if late > _TOO_LATE:
                run = replace(run, failures=tuple(each for each in run.failures if each.hard), intermittent=frozenset())
            self.runs.append(run)
            add_run(self._ledger, run, answered=self._past.answered.get(run.node))

    def _check_mounted(self, sweeps: Sequence[str]) -> None:
        """Raise ``CouldNotJudge`` where an empty directory has replaced the one that was read: its file system is not mounted."""
        key, inode = f"directory:{self._folder}", str(self._folder.stat().st_ino)
        if not sweeps and self._ledger.meta(key) not in (None, inode):
            raise CouldNotJudge(
                f"{self._folder}: empty, and not the directory that was read before: is its file system mounted? If it is new, this ends "
                "with its first sweep"
            )
        self._ledger.set_meta(key, inode)


def _read_health(ledger: Ledger, past: Past, policy: Policy, folder: Path, now: float, found: Intake) -> list[Path]:
    """Take in health findings, however old: hard evidence stands until it is closed. Returns the files that are in the ledger now."""
    _check_listed(folder)
    trust = Trust(folder, frozenset({0}))
    trust.check_parents()
    trust.directory(folder)
    known = _taken_below(ledger, str(folder))
    looks = finding_files.all_of(folder, trust, found.refused)
    for gone in known.keys() - {str(path) for path, _ in looks}:
        ledger.write("DELETE FROM taken WHERE place = ?", gone)
    taken = []
    for path, one in looks:
        with found.refusing(path):
            if known.get(str(path)) != one["run"]:
                _take_in_finding(ledger, past, path, one, now)
            taken.append(path)
    return taken


def _take_in_finding(ledger: Ledger, past: Past, path: Path, one: dict[str, Any], now: float) -> None:
    at = seconds(one["time"])
    came = min(_arrival(path, at), now)
    _refuse_the_future(path, at, now)
    failures = tuple(Finding.from_raw(each) for each in one["findings"] if each["verdict"] == "FAIL")
    run = CheckRun(
        one["node"], HEALTH, one["run"], at, at, one["verdict"], failures, source=str(path), came=came, system=one["system"] or "",
    )  # fmt: skip
    # Of a node's checks that found nothing the newest is enough.
    ledger.write(
        "DELETE FROM check_run WHERE node = ? AND check_name = ? AND known < ? AND id NOT IN (SELECT check_run FROM finding)",
        run.node, HEALTH, run.known,
    )  # fmt: skip
    add_run(ledger, run, answered=past.answered.get(run.node))
    ledger.write("INSERT OR REPLACE INTO taken VALUES (?, ?)", str(path), run.run)


def has_act(system: str) -> bool:
    """Whether a system's file lets an ``act`` of its own decide."""
    path = site_files("systems", site_directories()).get(system)
    return path is not None and "act" in (SiteFile(path).data or {})


def _taken_below(ledger: Ledger, place: str) -> dict[str, str]:
    rows = ledger.rows("SELECT * FROM taken WHERE place >= ? AND place < ?", f"{place}/", f"{place}0")
    return {row["place"]: row["stamp"] for row in rows}


def _stamp(sweep: Path) -> tuple[str, float]:
    """The state of a sweep's files and directories, which a resumed sweep or a node's first result changes, and when one last did."""
    found, changed = [], 0.0
    for path in (sweep / name for name in (sweep_file.FILE, "nodes")):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            words = f"cannot be read: {error.strerror}; what is in its sweep is not known"
            raise CouldNotJudge(f"{path}: {words}") from None
        found.append(f"{status.st_mtime_ns} {status.st_size} {status.st_ino}")
        changed = max(changed, status.st_mtime)
    return "; ".join(found), changed


def _arrival(path: Path, ended: float) -> float:
    """When a file came to be there, in seconds since 1970: its time, or ``ended`` where a backup was restored with older times."""
    status = path.lstat()
    restored = status.st_mtime < ended - CLOCKS and ended <= status.st_ctime
    return ended if restored else status.st_mtime


def _refuse_the_future(path: Path, ended: float, now: float) -> None:
    if ended > now + CLOCKS:
        remedy = "set the node's clock, or this host's; not counted"
        raise CouldNotJudge(f"{path}: of {utc_text(ended)}, which is not yet; {remedy}")


def _check_listed(folder: Path) -> None:
    try:
        next(iter(folder.iterdir()), None)
    except OSError as error:
        remedy = "is its file system mounted? or name another directory"
        raise CouldNotJudge(f"{folder}: cannot be listed: {error.strerror}; {remedy}") from None
