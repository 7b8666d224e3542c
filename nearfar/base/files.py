"""How files are written so that a reader never sees half of one; locks; directories of runs."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import Any

from .errors import CouldNotJudge
from .places import reports_directory
from .times import name_text

_REMEDY = {
    errno.ENOSPC: "the disk is full; make room, or {elsewhere} on another disk",
    errno.EDQUOT: "the quota is used up; make room, or {elsewhere} elsewhere",
    errno.EROFS: "the file system is read-only; {elsewhere} that can be written",
    errno.EACCES: "no permission to write there; {elsewhere} that can be written",
    errno.EPERM: "no permission to write there; {elsewhere} that can be written",
}


#: What a user can do about a place that cannot be written.
STATE_ELSEWHERE = "set NEARFAR_STATE to a directory"
#: What no text holds: neither a name of a file nor a line of a log can.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def copy_tree(source: Path, to: Path) -> None:
    """Copy a directory's files into a new one. Raises the first ``OSError`` as it is: ``shutil.copytree`` collects them, and
    a full disk is told in as many words as there are files."""
    to.mkdir()
    for path in sorted(source.rglob("*")):
        target = to / path.relative_to(source)
        if path.is_dir():
            target.mkdir()
        else:
            shutil.copyfile(path, target)


def cannot_write(path: Path, error: OSError, elsewhere: str = STATE_ELSEWHERE) -> CouldNotJudge:
    """The user's error for a failed write: the path, the cause and the remedy in one line."""
    cause = _REMEDY.get(error.errno or 0, error.strerror or str(error)).format(elsewhere=elsewhere)
    return CouldNotJudge(f"{path}: cannot be written: {cause}")


def text_or_empty(path: Path) -> str:
    """The text of a file without blanks around it; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def json_or_none(path: Path) -> Any:
    """What a JSON file holds; None where it cannot be read, or is none."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def strict_json(text: str | bytes) -> Any:
    """What JSON of others holds. Raises ``ValueError`` also for NaN, numbers that no float holds, halves of letters and deep nesting."""
    try:
        document = json.loads(text, parse_float=_finite, parse_int=_whole, parse_constant=_finite)
        if "\\u" in text if isinstance(text, str) else b"\\u" in text:
            _check_text(document)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return document


def _check_text(document: Any) -> None:
    if isinstance(document, str) and _NO_TEXT.search(document):
        raise ValueError(f"{document[:40]!a} is not text")
    if isinstance(document, (dict, list)):
        for each in (*document, *document.values()) if isinstance(document, dict) else document:
            _check_text(each)


def _finite(word: str) -> float:
    if not isfinite(number := float(word)):
        raise ValueError(f"{word[:20]} is not a number")
    return number


def _whole(word: str) -> int:
    _finite(word)
    return int(word)


def leads_nowhere(path: Path) -> bool:
    """Whether it is a link to what is not there: mostly a file system that is not mounted."""
    return path.is_symlink() and not path.exists()


def make_directory(path: Path, elsewhere: str = STATE_ELSEWHERE) -> Path:
    """Make ``path`` with its parents; raises ``CouldNotJudge`` with the remedy where that is impossible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        what = "a dangling link" if leads_nowhere(path) else "not a directory"
        raise CouldNotJudge(f"{path}: {what}; {elsewhere}") from None
    except OSError as error:
        raise cannot_write(path, error, elsewhere) from None
    return path


def write_atomically(
    path: Path,
    content: str | bytes,
    elsewhere: str = STATE_ELSEWHERE,
    mode: int | None = None,
    durable: bool = False,
) -> None:
    """Write a file beside its place and rename it there; an interrupted write leaves the old file, or none.

    Makes missing parent directories. What is there and no file (a device, a pipe) stays as it is.
    ``mode`` None: as the umask has it. ``durable``: it is on the disk when this returns, with
    its name in its directory. Raises ``CouldNotJudge`` (full disk, read-only, no permission).
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    make_directory(path.parent, elsewhere)
    beside = None
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "exists and is not a file")
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.chmod(beside, 0o666 & ~_umask() if mode is None else mode)
        os.replace(beside, path)
        beside = None
    except OSError as error:
        raise cannot_write(path, error, elsewhere) from None
    finally:
        if beside is not None:
            _remove(beside)
    if durable:
        sync_directory(path.parent, elsewhere)


def sync_directory(path: Path, elsewhere: str = STATE_ELSEWHERE) -> None:
    """Bring the names in a directory to the disk. Raises ``CouldNotJudge`` where that fails."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise cannot_write(path, error, elsewhere) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _remove(path: str | Path) -> None:
    with suppress(OSError):
        os.unlink(path)


def link_atomically(link: Path, target: str) -> None:
    """Point a symbolic link at ``target`` (as written, usually relative), replacing an older link at once."""
    make_directory(link.parent)
    beside = link.parent / f".{link.name}.{os.getpid()}"
    try:
        _remove(beside)
        os.symlink(target, beside)
        os.replace(beside, link)
    except OSError as error:
        _remove(beside)
        raise cannot_write(link, error) from None


@contextmanager
def file_lock(path: Path, limit: float = 600.0, elsewhere: str = STATE_ELSEWHERE, mode: int = 0o666) -> Iterator[None]:
    """Hold an exclusive lock on ``path`` (made if missing), waiting at most ``limit`` seconds; then
    ``CouldNotJudge``, which says what the file says of its holder. ``mode``: 0600 where no other user may hold it; who can read
    a file can lock it."""
    make_directory(path.parent, elsewhere)
    try:
        # To read as well: a FIFO in its place would keep a mere writer waiting for ever.
        stream = open(path, "a+", opener=lambda name, flags: os.open(name, flags, mode))
    except OSError as error:
        raise cannot_write(path, error, elsewhere) from None
    with stream:
        deadline = time.monotonic() + limit
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    holder = path.read_text(errors="replace").strip()[:200] or "another run"
                    raise CouldNotJudge(f"{path}: held by {holder} for more than {limit:.0f} s; wait for it") from None
                time.sleep(0.05)
            except OSError as error:
                why = "its file system has no locks (Lustre: mount it with flock; NFS: without nolock)"
                raise CouldNotJudge(f"{path}: cannot be locked: {error.strerror}; {why}") from None
        yield


def new_run_directory(system: str, started: float | None = None) -> Path:
    """Make ``reports/<system>/<YYYYmmddTHHMMSS>`` (UTC); a second run in the same second gets a suffix, never the same folder."""
    base = make_directory(reports_directory() / system)
    stamp = name_text(started)
    for name in [stamp, *(f"{stamp}-{n}" for n in range(2, 1000))]:
        try:
            (base / name).mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write(base / name, error) from None
        return base / name
    raise CouldNotJudge(f"{base}: a thousand runs within a second")


def publish_run(run_directory: Path) -> None:
    """Point ``reports/latest`` at this run."""
    link_atomically(reports_directory() / "latest", f"{run_directory.parent.name}/{run_directory.name}")
