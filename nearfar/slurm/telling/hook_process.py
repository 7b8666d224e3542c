"""One call of a hook: JSON on its standard input, a time limit, and no more output kept than a log line needs."""

from __future__ import annotations

import contextlib
import os
import pwd
import selectors
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.base import process

#: Bytes of output at which a hook is ended.
MOST = 1 << 20
#: Bytes of output that are kept, and characters of the line that is told.
_KEPT, _LINE = 4096, 200
#: Seconds between SIGTERM and SIGKILL.
_GRACE = 0.5


@dataclass(frozen=True)
class HookCall:
    """How a call ended. ``problem`` None: with exit code 0. ``said``: the first line of its output, cut."""

    problem: str | None
    said: str
    seconds: float


def call(program: str, hook: str, document: bytes, limit: float) -> HookCall:
    """Run a hook for at most ``limit`` seconds; its whole process group is gone when this returns or raises."""
    began = time.monotonic()
    try:
        child = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/",
            env=_environment(hook), start_new_session=True, umask=0o022,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        words = f"cannot be started: {getattr(error, 'strerror', None) or error}"
        return HookCall(words, "", time.monotonic() - began)
    problem = None
    try:
        kept, problem = _served(child, document, began + limit)
    finally:
        process.end_group(child, _GRACE)
        for stream in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
    if problem == "":
        problem = f"it did not end within {limit:g} s"
    elif problem is None and child.returncode:
        code = child.returncode
        problem = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
    return HookCall(problem, _first_line(kept), time.monotonic() - began)


def _served(child: subprocess.Popen[bytes], document: bytes, end: float) -> tuple[bytes, str | None]:
    """Give a child its input and read its output until it ends: what is kept of it, and why it has to be ended (empty: its time is
    over). What it has left behind that holds its output open is not waited for."""
    assert child.stdin is not None and child.stdout is not None
    kept, size = bytearray(), 0
    for stream in (child.stdin, child.stdout):
        os.set_blocking(stream.fileno(), False)
    with selectors.DefaultSelector() as waiting:
        waiting.register(child.stdin, selectors.EVENT_WRITE)
        waiting.register(child.stdout, selectors.EVENT_READ)
        while time.monotonic() < end:
            ready = {key.fileobj for key, _ in waiting.select(0.05)}
            if child.stdin in ready:
                document = _written(child.stdin.fileno(), document)
                if not document:
                    waiting.unregister(child.stdin)
                    child.stdin.close()
            part = _read(child.stdout.fileno()) if child.stdout in ready else None
            if part:
                kept += part[: _KEPT - len(kept)]
                size += len(part)
                if size > MOST:
                    return bytes(kept), f"it wrote more than {MOST >> 20} MiB, and was ended"
            elif child.poll() is not None:
                last = None if child.stdout.closed else _read(child.stdout.fileno())
                return bytes(kept or (last or b"")[:_KEPT]), None
            elif part == b"":  # its output is closed, and it goes on: it may still read
                waiting.unregister(child.stdout)
                child.stdout.close()
    return bytes(kept), ""


def _written(stream: int, document: bytes) -> bytes:
    """What is still to be written; a hook that does not read its input loses the rest."""
    try:
        return document[os.write(stream, document) :]
    except BlockingIOError:
        return document
    except OSError:
        return b""


def _read(stream: int) -> bytes | None:
    try:
        return os.read(stream, 65536)
    except BlockingIOError:
        return None


def _first_line(text: bytes) -> str:
    lines = text.decode("utf-8", "replace").split("\n")
    first = next((line.strip() for line in lines if line.strip()), "")
    return "".join(letter if letter.isprintable() else "?" for letter in first)[:_LINE]


def _environment(hook: str) -> Mapping[str, str]:
    """All that a hook finds: nothing of what act was started with."""
    found = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "NEARFAR_HOOK": hook,
    }
    with contextlib.suppress(KeyError):
        user = pwd.getpwuid(os.geteuid())
        found |= {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
    return found
