"""Standard input, output and error that are there whoever has started a command, and output that may go nowhere: what is done, and the
exit code, depend on neither."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any


class StandardOutput(io.FileIO):
    """A standard stream that is written to. Once it cannot be, the rest goes to ``/dev/null``; ``problem`` is why, None where only its
    reader has gone."""

    problem: str | None = None

    def write(self, data: Any, /) -> int:
        """As ``FileIO`` has it; it does not raise ``OSError``."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EPIPE:
                self.problem = error.strerror or str(error)
            _null(self.fileno())
            return len(data)


def say(message: str) -> None:
    """One line of nearfar's own on standard error."""
    print(f"nearfar: {message}", file=sys.stderr, flush=True)


def prepare() -> StandardOutput | None:
    """Open those of the three that are closed on ``/dev/null``, and put such streams in the place of ``sys.stdout`` and
    ``sys.stderr``; those that a caller has replaced stay. Gives that of standard output, None where it was replaced."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            _null(number)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)
    if sys.stderr is sys.__stderr__:
        _, sys.stderr = _stream(2, sys.stderr)
    if sys.stdout is not sys.__stdout__:
        return None
    raw, sys.stdout = _stream(1, sys.stdout)
    return raw


def _stream(number: int, before: Any) -> tuple[StandardOutput, io.TextIOWrapper]:
    """``before``: the stream of Python's own; None where it was closed."""
    raw = StandardOutput(number, "w", closefd=False)
    text = io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=getattr(before, "encoding", "utf-8"), errors="backslashreplace",
        line_buffering=number == 2 or getattr(before, "line_buffering", False),
        write_through=getattr(before, "write_through", False),
    )  # fmt: skip
    return raw, text


def _null(number: int) -> None:
    handle = os.open(os.devnull, os.O_RDWR)
    os.dup2(handle, number)
    if handle == number:
        os.set_inheritable(number, True)
    else:
        os.close(handle)
