"""Whose files may be believed: results decide over nodes, and the directory they lie in is shared."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from nearfar.errors import CouldNotJudge


@dataclass(frozen=True)
class Trust:
    """The users whose results count, by number, and the directory above which nothing is looked at."""

    root: Path
    users: Collection[int]

    def directory(self, path: Path) -> None:
        """Raise ``CouldNotJudge`` unless ``path`` and every directory above it up to the root are real directories that
        these users alone can change."""
        try:
            parts = path.relative_to(self.root).parts
        except ValueError:
            raise CouldNotJudge(f"{path}: not below {self.root}; not read") from None
        place = self.root
        for part in ("", *parts):
            place = place / part
            self._check(place, _stat(place), "directory", stat.S_ISDIR)

    def object(self, path: Path) -> dict[str, Any]:
        """The JSON object in a file of these users, whole and without NaN. Its directory has been checked already."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}; not counted") from None
        with open(handle, "rb") as stream:
            self._check(path, os.fstat(stream.fileno()), "file", stat.S_ISREG)
            text = stream.read()
        try:
            found = json.loads(text, parse_constant=_no_figure)
        except ValueError as error:
            where = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise CouldNotJudge(f"{path}{where}: not a whole JSON document ({error}); not counted") from None
        if not isinstance(found, dict):
            raise CouldNotJudge(f"{path}: expected a JSON object; not counted")
        return found

    def document(self, path: Path, schema: str, file: str) -> dict[str, Any]:
        """As ``object``, of a schema: ``schema`` is what it calls itself, ``file`` the package's JSON schema of it."""
        from nearfar.sitefile import validator

        raw = self.object(path)
        if raw.get("schema") != schema:
            raise CouldNotJudge(f"{path}: expected schema {schema}, found {raw.get('schema')}; not counted")
        problem = next(validator(file).iter_errors(raw), None)
        if problem is not None:
            where = ".".join(map(str, problem.absolute_path))
            raise CouldNotJudge(f"{path}: {where + ': ' if where else ''}{problem.message[:120]}; not counted")
        return raw

    def _check(self, path: Path, status: os.stat_result, what: str, right: Any) -> None:
        if not right(status.st_mode):
            raise CouldNotJudge(f"{path}: not a {what} (links are not followed); not counted")
        if status.st_uid not in self.users:
            known = ", ".join(map(str, sorted(self.users)))
            raise CouldNotJudge(f"{path}: belongs to user {status.st_uid}, not to {known}; not counted")
        # Where others may write, a sticky directory still keeps them from what is not theirs.
        if status.st_mode & 0o022 and not (what == "directory" and status.st_mode & stat.S_ISVTX):
            raise CouldNotJudge(
                f"{path}: others can write to it (mode {stat.S_IMODE(status.st_mode):04o}); not counted"
            )


def own(root: Path) -> Trust:
    """This user's own results, and root's."""
    return Trust(root, frozenset({0, os.geteuid()}))


def _stat(path: Path) -> os.stat_result:
    try:
        return os.lstat(path)
    except OSError as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}; not counted") from None


def _no_figure(word: str) -> NoReturn:
    raise ValueError(f"{word} is no figure")
