"""Run a program with the node's lock, and leave an account of how it ended.

What ReFrame's job starts on the node: ``python -m nearfar.base.supervise --limit 360 --wait 60 -- nearfar-copy --json …``. Standard
output is the program's own, also of one that was ended at the limit: that is the last resort for programs that do not look after
themselves. ``supervise.json`` beside it says how it ended, or what kept it from being started: with ``--wait`` it holds the node's
lock, which another run may have.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from . import node_lock, process
from .errors import EXIT_COULD_NOT_JUDGE, CouldNotJudge, NearfarError
from .files import write_atomically

#: Where the account is left, in the working directory.
ACCOUNT = "supervise.json"
#: Seconds that a limit is to have beside what a healthy node takes: the program tries what hangs once more, GPU by GPU.
LAST_RESORT = 300.0
#: Seconds between SIGTERM and SIGKILL: less than ReFrame gives this process itself when it cancels a job.
GRACE = 1.0
#: The exit code after a program that did not end (as timeout(1) has it).
EXIT_HANG = 124


#: What is done with a program's standard output while the node's lock is still held.
Afterwards = Callable[[Sequence[str], str], None]


def supervise(
    command: Sequence[str], limit: float, wait: float | None = None, afterwards: Afterwards | None = None
) -> int:
    """Run ``command``; returns its exit code, or ``EXIT_HANG``.

    ``wait``: seconds to wait for the node's lock before, None: it needs none. ``afterwards`` is called with the command and its
    standard output, which has been passed on by then; not where the program did not end. Raises ``CouldNotJudge`` where another
    run keeps the lock, or what the program printed cannot be passed on.
    """
    account: dict[str, object] = {"limit": limit, "command": list(command)}
    with contextlib.ExitStack() as stack:
        if wait is not None:
            try:
                stack.enter_context(node_lock.held(wait))
            except NearfarError as error:
                write_atomically(Path(ACCOUNT), json.dumps({**account, "prevented": str(error)}))
                raise
        done = process.run(command, limit, grace=GRACE, on_stderr=lambda line: print(line, file=sys.stderr, flush=True))
        account |= {"seconds": round(done.seconds, 4), "returncode": done.returncode, "timed_out": done.timed_out,
                    "last_line": done.last_line}  # fmt: skip
        write_atomically(Path(ACCOUNT), json.dumps(account))
        _pass_on(done.stdout)
        if done.timed_out:
            print(f"nearfar: no end within {limit:g} s; ended", file=sys.stderr, flush=True)
            return EXIT_HANG
        if afterwards is not None:
            afterwards(command, done.stdout)
        return done.returncode if done.returncode >= 0 else 128 - done.returncode


def _pass_on(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer is not tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise CouldNotJudge(f"standard output cannot be written: {error.strerror}") from None


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str], afterwards: Afterwards | None = None) -> int:
    """``--limit SECONDS [--wait SECONDS] -- PROGRAM [ARGUMENT…]``; ``afterwards`` as for ``supervise``."""
    parser = argparse.ArgumentParser(
        prog="python -m nearfar.base.supervise", description="Run a program under a time limit, with the node's lock."
    )
    parser.add_argument("--limit", type=float, required=True, metavar="SECONDS")
    parser.add_argument("--wait", type=float, metavar="SECONDS", help="hold the node's lock; wait for it so long")
    parser.usage = "%(prog)s --limit SECONDS [--wait SECONDS] -- PROGRAM [ARGUMENT...]"
    at = arguments.index("--") if "--" in arguments[:-1] else parser.error("no program after --")
    given = parser.parse_args(arguments[:at])
    return interruptible(lambda: supervise(arguments[at + 1 :], given.limit, given.wait, afterwards))


def interruptible(body: Callable[[], int]) -> int:
    """The exit code of ``body``; a scheduler's termination ends its program's group too, which has a session of its own."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return body()
    except NearfarError as error:
        print(f"nearfar: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("nearfar: interrupted", file=sys.stderr)
        return EXIT_COULD_NOT_JUDGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
