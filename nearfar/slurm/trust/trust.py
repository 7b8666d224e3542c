"""Whose files may be believed: results decide over nodes, and the directory they lie in is shared. What a program that runs as root may
rely on: paths that nobody but root can change. And root on behalf of the user that a directory belongs to: what is written stays that
user's, and so are jobs."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import stat
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, conforms, places, strict_json, user_name, validator

#: So many links on the way to a directory, as Linux has it.
_LINKS = 40
#: Bytes of the largest document that is read: a result of many GPUs has one or two MiB.
_LARGEST = 32 << 20


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
        """Raise ``CouldNotJudge`` where others than these users, this one and root can change a directory above the root or a link on
        the way to it: they could put another in the root's place. What is not there yet nobody can have changed."""
        users = {*self.users, 0, os.geteuid()}
        hint = f"{self.root} could be another's in its place, and nothing in it counts: fix that, or name another directory"
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
                raise CouldNotJudge(f"{here}: cannot be read: {error.strerror}; {hint}") from None
            link = stat.S_ISLNK(status.st_mode)
            links += link
            why = _foreign(status, users) or ("" if link else _open(status, sticky=True))
            if why or links > _LINKS:
                raise CouldNotJudge(f"{here}: {why or 'a link among too many'}; {hint}")
            if link:
                todo += reversed(Path(os.readlink(here)).parts)
            else:
                place = here

    def directory(self, path: Path) -> None:
        """Raise ``CouldNotJudge`` unless ``path`` and every directory above it up to the root are real directories that
        these users alone can change."""
        self.check_folder(self.root, _stat(self.root))
        self.below(self.root, path)

    def below(self, above: Path, path: Path) -> None:
        """As ``directory``, of a path below one that has just been looked at."""
        try:
            parts = path.relative_to(above).parts
        except ValueError:
            raise CouldNotJudge(f"{path}: not below {above}; not read") from None
        place = str(above).rstrip("/")
        for part in parts:
            place = f"{place}/{part}"
            self.check_folder(place, _stat(place))

    def file(self, path: Path) -> bytes:
        """What is in a file of these users. Its directory has been checked already."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                status = os.fstat(handle)
                self._check(path, status, "file", stat.S_ISREG(status.st_mode))
                if status.st_size > _LARGEST:
                    raise CouldNotJudge(f"{path}: has {status.st_size >> 20} MiB, no document has so many; not counted")
                with open(handle, "rb", closefd=False) as stream:  # which a directory could not be opened as
                    return stream.read(min(status.st_size + 1, _LARGEST))  # a read of more takes as much memory first
            finally:
                os.close(handle)
        except OSError as error:  # also a disk, or a server of files, that fails in the middle
            raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}; not counted") from None

    def object(self, path: Path) -> dict[str, Any]:
        """The JSON object in a file of these users, whole and without NaN. Its directory has been checked already."""
        text = self.file(path)
        try:
            found = strict_json(text)
        except ValueError as error:
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
        self._check(path, status, "directory", stat.S_ISDIR(status.st_mode))

    def _check(self, path: Path | str, status: os.stat_result, what: str, right: bool) -> None:
        foreign = _foreign(status, self.users)
        if foreign:
            raise NotOurs(f"{path}: {foreign}; not counted", status.st_uid)
        why = _open(status, sticky=what == "directory") if right else f"not a {what} (links are not followed)"
        if why:
            raise CouldNotJudge(f"{path}: {why}; not counted")


def own(root: Path) -> Trust:
    """This user's own results, and root's."""
    return Trust(root, frozenset({0, os.geteuid()}))


def _foreign(status: os.stat_result, users: Collection[int]) -> str:
    """Why it is not these users'; empty where it is."""
    if status.st_uid in users:
        return ""
    return f"belongs to user {status.st_uid}, not to {', '.join(map(str, sorted(users)))}"


def _open(status: os.stat_result, sticky: bool) -> str:
    """Why others can change it; empty where they cannot. ``sticky``: a sticky directory keeps others from what is not theirs."""
    if status.st_mode & 0o022 and not (sticky and status.st_mode & stat.S_ISVTX):
        return f"other users can write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


def _stat(path: Path | str) -> os.stat_result:
    try:
        return os.lstat(path)
    except OSError as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}; not counted") from None


def refuse_changeable(paths: Iterable[Path], users: frozenset[int], what: str) -> None:
    """Raise ``NearfarError`` for the first path that others than ``users`` can change: it, what it links to, or a directory
    above it."""
    for path in paths:
        try:
            real = path.resolve(strict=True)
            Trust(Path("/"), users).directory(real if real.is_dir() else real.parent)
        except OSError as error:
            raise NearfarError(f"{path}: {error.strerror}; {what} must be there") from None
        except CouldNotJudge as error:
            raise _refusal(str(error).removesuffix("; not counted"), what) from None
        _refuse_writable(real, users, what)


def refuse_changeable_tree(folder: Path, users: frozenset[int], what: str) -> None:
    """The same of a directory, and of every directory and file below it."""
    refuse_changeable([folder], users, what)
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _refuse_writable(Path(place, name), users, what)


def _refuse_writable(path: Path, users: frozenset[int], what: str) -> None:
    status = path.lstat()
    why = _foreign(status, users) or ("" if path.is_symlink() else _open(status, sticky=False))
    if why:
        raise _refusal(f"{path}: {why}", what)


def _refusal(words: str, what: str) -> NearfarError:
    return NearfarError(f"{words}; as root {what} must be root's alone: fix it, or run from another place")


def go_on_as_owner(place: Path) -> None:
    """Where root calls: this process goes on as the user that ``place`` belongs to, as under ``sudo -u``, and says so on standard error.
    Nothing happens for other users, and where ``place`` is root's or not there. Raises ``NearfarError`` for a user that this machine does
    not know, or who cannot read this program."""
    uid = owner_of(place)
    if os.geteuid() != 0 or uid is None or uid == 0:
        return
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        raise NearfarError(f"{place}: belongs to user {uid}, whom this machine does not know; chown it") from None
    os.environ.setdefault("SUDO_USER", "root")  # who typed it, for the log
    os.environ.update({"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name})
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(uid)
    for path, mode in ((Path(sys.executable), os.X_OK), (places.PACKAGE / "cli.py", os.R_OK)):
        if not os.access(path, mode):
            raise NearfarError(f"{path}: {user.pw_name} cannot use it, and {place} is that user's; fix its mode")
    if not os.access(".", os.X_OK):
        os.chdir("/")
    print(f"nearfar: goes on as {user.pw_name}: {place} is that user's", file=sys.stderr)


def owner_of(place: Path) -> int | None:
    """The user that a directory belongs to; None where it is not there."""
    try:
        return place.stat().st_uid
    except OSError:
        return None


def typed_as(user: int) -> str:
    """The line that does what was typed, as another user."""
    return shlex.join(["sudo", *(["-u", user_name(user)] if user else []), "nearfar", *sys.argv[1:]])
