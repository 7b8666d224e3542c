"""What a program that runs as root may rely on: paths that nobody but root can change."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError

from .trust import Trust


def refuse(paths: Iterable[Path], users: frozenset[int], what: str) -> None:
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


def refuse_tree(folder: Path, users: frozenset[int], what: str) -> None:
    """The same of a directory, and of every directory and file below it."""
    refuse([folder], users, what)
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _refuse_writable(Path(place, name), users, what)


def _refuse_writable(path: Path, users: frozenset[int], what: str) -> None:
    status = path.lstat()
    if status.st_uid not in users:
        raise _refusal(f"{path}: belongs to user {status.st_uid}", what)
    if status.st_mode & 0o022 and not path.is_symlink():
        raise _refusal(f"{path}: other users can write to it (mode {status.st_mode & 0o7777:04o})", what)


def _refusal(words: str, what: str) -> NearfarError:
    return NearfarError(f"{words}; as root {what} must be root's alone: fix it, or run from another place")
