"""Whose files may be believed: results decide over nodes, and the directory they lie in is shared."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from nearfar.base import CouldNotJudge, conforms, validator

#: So many links on the way to a directory, as Linux has it.
_LINKS = 40
#: Bytes of the largest document that is read: a result of many GPUs has one or two MiB.
_LARGEST = 32 << 20
#: What a number that is no float has to hold, where all digits are 0: so large an exponent, or so many digits.
_HUGE = (b"e000", b"0" * 300)
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
#: What no text holds: neither a name of a file nor a line of a log can.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class NotOurs(CouldNotJudge):
    """It belongs to ``owner``, a user whose results do not count."""

    def __init__(self, words: str, owner: int) -> None:
        super().__init__(words)
        self.owner = owner


@dataclass(frozen=True)
class Trust:
    """The users whose results count, by number, and the directory above which nothing is looked at."""

    root: Path
    users: Collection[int]

    def check_parents(self) -> None:
        """Raise ``CouldNotJudge``, in a line that names the place, where others than these users, this one and root can change a
        directory above the root or a link on the way to it: they could put another in the root's place. What is not there yet
        nobody can have changed.
        """
        users = {*self.users, 0, os.geteuid()}
        place, links = Path("/"), 0
        todo = list(reversed(self.root.absolute().parent.parts))
        while todo:
            part = todo.pop()
            here = place.parent if part == ".." else place / part  # the parts of an absolute path begin with "/"
            try:
                status = os.lstat(here)
            except FileNotFoundError:
                return
            except OSError as error:
                raise CouldNotJudge(f"{here}: cannot be read: {error.strerror}; {self._instead()}") from None
            link = stat.S_ISLNK(status.st_mode)
            why = _whose(status, users) or ("" if link else _open(status, sticky=True))
            links += link
            if links > _LINKS:
                why = "a link among too many"
            if why:
                raise CouldNotJudge(f"{here}: {why}; {self._instead()}")
            if link:
                todo += reversed(Path(os.readlink(here)).parts)
            else:
                place = here

    def _instead(self) -> str:
        return f"{self.root} could be another's in its place, and nothing in it counts: fix that, or name another directory"

    def directory(self, path: Path) -> None:
        """Raise ``CouldNotJudge`` unless ``path`` and every directory above it up to the root are real directories that
        these users alone can change."""
        self.check_folder(self.root, _stat(self.root))
        self.below(self.root, path)

    def below(self, above: Path, path: Path) -> None:
        """As ``directory``, of a path below one that has just been looked at."""
        place, whole = str(above), str(path)
        if whole == place:
            return
        inside = whole.removeprefix(f"{place.rstrip('/')}/")
        if inside == whole:
            raise CouldNotJudge(f"{path}: not below {above}; not read")
        for part in inside.split("/"):
            place = f"{place}/{part}"
            self.check_folder(place, _stat(place))

    def file(self, path: Path) -> bytes:
        """What is in a file of these users. Its directory has been checked already."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}; not counted") from None
        try:
            status = os.fstat(handle)
            self.check_file(path, status)
            if status.st_size > _LARGEST:
                raise CouldNotJudge(f"{path}: has {status.st_size >> 20} MiB, no document has so many; not counted")
            with open(handle, "rb", closefd=False) as stream:  # which a directory could not be opened as
                return stream.read(min(status.st_size + 1, _LARGEST))  # a read of more takes as much memory first
        except OSError as error:  # a disk, or a server of files, that fails in the middle
            raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}; not counted") from None
        finally:
            os.close(handle)

    def object(self, path: Path) -> dict[str, Any]:
        """The JSON object in a file of these users, whole and without NaN. Its directory has been checked already."""
        return self.parsed(path, self.file(path))

    def parsed(self, path: Path, text: bytes) -> dict[str, Any]:
        """The JSON object that was read of a file, whole and without NaN."""
        try:
            numbers: dict[str, Any] = {"parse_float": _figure, "parse_int": _whole} if _may_be_huge(text) else {}
            found = json.loads(text, parse_constant=_no_figure, **numbers)
            if b"\\u" in text:
                _check_text(found)
        except (ValueError, RecursionError) as error:
            where = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise CouldNotJudge(f"{path}{where}: not a whole JSON document ({error}); not counted") from None
        if not isinstance(found, dict):
            raise CouldNotJudge(f"{path}: expected a JSON object; not counted")
        return found

    def document(self, path: Path, schema: str, file: str) -> dict[str, Any]:
        """As ``object``, of a schema: ``schema`` is what it calls itself, ``file`` the package's JSON schema of it."""
        raw = self.object(path)
        if raw.get("schema") != schema:
            raise CouldNotJudge(f"{path}: expected schema {schema}, found {raw.get('schema')}; not counted")
        problem = None if conforms(file)(raw) else next(validator(file).iter_errors(raw), None)
        if problem is not None:
            where = ".".join(map(str, problem.absolute_path))
            raise CouldNotJudge(f"{path}: {where + ': ' if where else ''}{problem.message[:120]}; not counted")
        return raw

    def check_folder(self, path: Path | str, status: os.stat_result) -> None:
        """Raise ``CouldNotJudge`` unless that is the status of a real directory that these users alone can change."""
        self._check(path, status, "directory", stat.S_ISDIR)

    def check_file(self, path: Path | str, status: os.stat_result) -> None:
        """The same of a file."""
        self._check(path, status, "file", stat.S_ISREG)

    def _check(self, path: Path | str, status: os.stat_result, what: str, right: Any) -> None:
        why = _whose(status, self.users)
        if why:
            raise NotOurs(f"{path}: {why}; not counted", status.st_uid)
        if not right(status.st_mode):
            raise CouldNotJudge(f"{path}: not a {what} (links are not followed); not counted")
        why = _open(status, sticky=what == "directory")
        if why:
            raise CouldNotJudge(f"{path}: {why}; not counted")


def own(root: Path) -> Trust:
    """This user's own results, and root's."""
    return Trust(root, frozenset({0, os.geteuid()}))


def _whose(status: os.stat_result, users: Collection[int]) -> str:
    """Why it is not these users'; empty where it is."""
    if status.st_uid in users:
        return ""
    return f"belongs to user {status.st_uid}, not to {', '.join(map(str, sorted(users)))}"


def _open(status: os.stat_result, sticky: bool) -> str:
    """Why others can change it; empty where they cannot. ``sticky``: where others may write, a sticky directory still keeps
    them from what is not theirs."""
    if status.st_mode & 0o022 and not (sticky and status.st_mode & stat.S_ISVTX):
        return f"others can write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _stat(path: Path | str) -> os.stat_result:
    try:
        return os.lstat(path)
    except OSError as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}; not counted") from None


def _check_text(document: Any) -> None:
    """Raise ``ValueError`` where a name or a text in a document holds half a character, or an end of text."""
    todo = [document]
    while todo:
        one = todo.pop()
        if isinstance(one, str) and _NO_TEXT.search(one):
            raise ValueError(f"{one[:40]!a} is no text")
        if isinstance(one, dict):
            todo += [*one, *one.values()]
        elif isinstance(one, list):
            todo += one


def _may_be_huge(text: bytes) -> bool:
    """Whether a JSON text may hold a number that is no float: in a third of a second for a thousand documents of 350 kB."""
    plain = text.translate(_DIGITS, b"+")
    return any(word in plain for word in _HUGE)


def _no_figure(word: str) -> NoReturn:
    raise ValueError(f"{word} is no figure")


def _figure(word: str) -> float:
    """``1e999`` is JSON, and no float."""
    return figure if isfinite(figure := float(word)) else _no_figure(word[:20])


def _whole(word: str) -> int:
    """A whole number that is a float, too: figures are compared and shown as such."""
    _figure(word)
    return int(word)
