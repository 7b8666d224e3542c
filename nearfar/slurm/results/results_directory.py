"""What lies in a results directory: the sweeps, and their results that were renamed into place."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nearfar.base import CouldNotJudge
from nearfar.slurm.trust import Trust

#: What file systems have of their own.
_NOT_OURS = ("lost+found",)
_CLOSED = (errno.EACCES, errno.EPERM, errno.ELOOP)
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


def sweeps(results: Path, trust: Trust) -> tuple[list[str], list[CouldNotJudge]]:
    """The names of the directories that may hold results, newest first; and why others that have some are not looked into: a link, or
    one that is others', or is closed to this user. Raises ``CouldNotJudge`` where one cannot be read for another reason."""
    found, refused = [], []
    for name in names(str(results)):
        place = f"{results}/{name}"
        try:
            status = os.lstat(place)
            trust.check_folder(place, status)
            with suppress(FileNotFoundError):
                trust.check_folder(f"{place}/nodes", os.lstat(f"{place}/nodes"))
            found.append((status.st_mtime, name))
        except FileNotFoundError:  # it has been removed since
            continue
        except CouldNotJudge as error:
            with suppress(CouldNotJudge):  # nobody can tell
                if not is_there(Path(place, "nodes")):
                    continue
            refused.append(error)
        except OSError as error:
            if error.errno not in _CLOSED or error.filename == place:
                words = f"{error.filename}: cannot be read: {error.strerror}; nothing is concluded without it"
                raise CouldNotJudge(words) from None
            words = f"{place}: cannot be entered: {error.strerror}; nothing in it is counted"
            refused.append(CouldNotJudge(words))
    return [name for _, name in sorted(found, reverse=True)], refused


def is_there(path: Path) -> bool:
    """Whether there is such a file or directory. Raises ``CouldNotJudge`` where that cannot be seen."""
    try:
        return bool(os.lstat(path))
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}; nothing is concluded without it") from None


def folders(results: Path, sweep: str, refused: list[CouldNotJudge] | None = None) -> Iterator[Path]:
    """The results of a sweep: those that were renamed into place, whoever wrote them. ``refused`` takes what is closed to this user.
    Raises ``CouldNotJudge`` for a directory that cannot be read though one may look into it."""
    nodes = f"{results}/{sweep}/nodes"
    for node in names(nodes, refused):
        for attempt in names(f"{nodes}/{node}", refused):
            if is_attempt(attempt):
                yield Path(f"{nodes}/{node}/{attempt}")


def is_attempt(name: str) -> bool:
    """Whether a directory is called as an attempt's is: by its number."""
    return name.isascii() and name.isdigit()


def names(folder: str, refused: list[CouldNotJudge] | None = None) -> list[str]:
    """What is in a directory, hidden ones left out; nothing where there is none, or one may not look (``refused`` is told so)."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith(".") and name not in _NOT_OURS)
    except OSError as error:
        if error.errno in _ABSENT:
            return []
        words = f"{folder}: cannot be read: {error.strerror}; what is in it is not "
        if error.errno not in _CLOSED:
            raise CouldNotJudge(f"{words}known") from None
        if refused is not None:
            refused.append(CouldNotJudge(f"{words}counted"))
        return []
