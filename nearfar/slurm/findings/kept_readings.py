"""Results read once: what was read of each is kept beside the log of ``act``, and holds as long as its files are what they were.

Whose the files are, and who can change them, is looked at each time: what was right when they were read is right as long as it is the
same, for the same trusted users. A file that was changed, replaced or taken away has another
time, size or number; one that was changed just now is read again, since a change that follows at once may leave all three alike.
What is kept is a convenience: a file that is damaged, or was written by another version of the package, is as none.
"""

from __future__ import annotations

import json
import marshal
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from nearfar.base import CouldNotJudge, Finding, NearfarError, places, write_atomically
from nearfar.slurm.results import result
from nearfar.slurm.trust import Trust, own

from .result_reading import CheckReading, ResultReading, of_result

_SCHEMA = "nearfar-act-readings/1"
#: Seconds after which a change leaves another time behind, whatever the clock of the file system and its steps (this host's may be
#: five minutes off).
SETTLED = 310.0
#: What is looked at of a directory or file, and when it was changed last.
_LOOKED_AT = attrgetter("st_mode", "st_uid", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
_CHANGED = attrgetter("st_ctime")
#: What reading a document that was made up may end in, whatever is looked at before: it is one more that is not believed.
MADE_UP = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class _Kept(NamedTuple):
    """A reading, the directories and files that it rests on (relative to the result's), and what these were like."""

    reading: ResultReading
    folders: tuple[str, ...]
    files: tuple[str, ...]
    stamp: str


class KeptReadings:
    """The readings of one results directory. ``path``: the file that they are kept in (None: in none)."""

    def __init__(self, results: Path, path: Path | None = None) -> None:
        self._results, self._path = results, path
        self._before = {} if path is None else _load(path, results)
        self._now: dict[str, _Kept] = {}
        self._new = False
        self._trusted: set[str] = set()

    def read(self, place: Path, trust: Trust, now: float) -> ResultReading:
        """What a result says, as ``result.read`` finds it; raises what that does. A result that is asked for again is not looked at
        again."""
        name = str(place)
        if name in self._now:
            return self._now[name].reading
        kept = self._before.get(name)
        if kept is not None and self._stamp(place, trust, kept.folders, kept.files, now) == kept.stamp:
            self._now[name] = kept
            return kept.reading
        one = result.read(place, trust, numbers=False)
        reading = of_result(one)
        if self._path is not None:
            folders = tuple(sorted({above for check in reading.checks for above in _above(check.folder)}))
            files = (result.RESULT, *one.files)
            stamp = self._stamp(place, trust, folders, files, now)
            if stamp is not None:
                self._now[name] = _Kept(reading, folders, files, stamp)
                self._new = True
        return reading

    def holds(self, place: Path, one: ResultReading, trust: Trust, now: float) -> bool:
        """Whether a result in ``place`` is believed, and is of the run that ``one`` is of."""
        try:
            its = self.read(place, trust, now)
        except (CouldNotJudge, OSError, *MADE_UP):
            return False
        return (its.name, its.run, its.sweep) == (one.name, one.run, one.sweep)

    def save(self) -> None:
        """Keep what was read in this call, and no more. Where it cannot be written nothing is kept."""
        if self._path is not None and (self._new or self._now.keys() != self._before.keys()):
            with suppress(NearfarError):
                write_atomically(self._path, _dump(self._results, self._now), mode=0o644)

    def _stamp(
        self, place: Path, trust: Trust, folders: Iterable[str], files: Iterable[str], now: float
    ) -> str | None:  # fmt: skip
        """What the directories and files of a result, which is believed, are like now, and for whom; None where one is not there, or
        has just been changed."""
        root = str(place)
        try:
            self._trust_above(place, trust)
            found = [os.lstat(root), *[os.lstat(f"{root}/{name}") for name in (*folders, *files)]]
        except (CouldNotJudge, OSError):
            return None
        numbers = list(map(_LOOKED_AT, found))
        if max(map(_CHANGED, found)) > now - SETTLED:
            return None
        said = marshal.dumps((sorted(trust.users), numbers), 2)  # version 2 says the same of the same
        return blake2b(said, digest_size=16).hexdigest()

    def _trust_above(self, place: Path, trust: Trust) -> None:
        """The directories above a result, those above its node's once in a call."""
        node, attempts = str(place.parent), str(place.parent.parent)
        if attempts not in self._trusted:
            trust.directory(place.parent.parent)
            self._trusted.add(attempts)
        if node not in self._trusted:
            trust.check_folder(node, os.lstat(node))
            self._trusted.add(node)


@lru_cache(maxsize=1024)
def _above(folder: str) -> tuple[str, ...]:
    """A relative directory and those above it."""
    path = PurePosixPath(folder)
    return tuple(str(each) for each in (path, *path.parents) if each.parts)


def _hashed(value: object) -> str:
    return blake2b(repr(value).encode(), digest_size=16).hexdigest()


@cache
def _package() -> str:
    """What all files of this package are like: readings of another version are read again."""
    found = []
    for place, folders, files in os.walk(places.PACKAGE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            status = os.lstat(f"{place}/{name}")
            found.append((place, name, status.st_size, status.st_mtime_ns))
    return _hashed(found)


def _dump(results: Path, kept: Mapping[str, _Kept]) -> str:
    """Two lines of JSON: what this is, with a hash of the second, and the readings. Sets of names stand once: most nodes have the
    same."""
    sets: dict[frozenset[str], int] = {}

    def packed(value: Any) -> Any:
        if isinstance(value, frozenset):
            return sets.setdefault(value, len(sets))
        if isinstance(value, Finding):
            return value.to_raw()
        return [packed(one) for one in value] if isinstance(value, tuple) else value

    entries = {
        place: [each.stamp, each.folders, each.files, *map(packed, each.reading)] for place, each in kept.items()
    }
    body = json.dumps({"sets": [sorted(names) for names in sets], "results": entries})
    head = {"schema": _SCHEMA, "package": _package(), "directory": str(results), "body": _hashed(body)}
    return f"{json.dumps(head)}\n{body}\n"


def _load(path: Path, results: Path) -> dict[str, _Kept]:
    """What is kept of a results directory: nothing where the file is another's, damaged, or of another version."""
    try:
        own(path.parent).check_file(str(path), os.lstat(path))
        first, body = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        head = json.loads(first)
        wanted = {"schema": _SCHEMA, "package": _package(), "directory": str(results), "body": _hashed(body)}
        if head != wanted:
            return {}
        raw = json.loads(body)
        sets = [frozenset(map(sys.intern, names)) for names in raw["sets"]]
        return {place: _kept(entry, sets) for place, entry in raw["results"].items()}
    except (CouldNotJudge, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return {}


def _kept(entry: Sequence[Any], sets: Sequence[frozenset[str]]) -> _Kept:
    stamp, folders, files, *values, parts, said, checks = entry
    made = tuple(_check(*check, sets=sets) for check in checks)
    of_reading: list[Any] = [*values, tuple(parts), said, made]
    return _Kept(ResultReading(*of_reading), tuple(folders), tuple(files), stamp)


def _check(
    check: str, verdict: str, folder: str, words: str, failures: Sequence[Mapping[str, Any]], *numbers: int,
    sets: Sequence[frozenset[str]],
) -> CheckReading:  # fmt: skip
    found = tuple(map(Finding.from_raw, failures))
    return CheckReading(check, verdict, folder, words, found, *(sets[number] for number in numbers))
