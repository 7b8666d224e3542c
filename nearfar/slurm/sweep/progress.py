"""A sweep's progress on standard error: a line for each node that is through, and on a terminal what is going on below."""

from __future__ import annotations

import sys
from pathlib import Path

from nearfar.slurm.results import Trust

from .outcome import outcome
from .state_file import SweepJob, SweepState


class SweepProgress:
    """Tells of a sweep; standard output stays free for ``--json``."""

    def __init__(self, journal: SweepState, results: Path, trust: Trust) -> None:
        self._journal, self._results, self._trust = journal, results, trust
        self._terminal = sys.stderr.isatty()

    def say(self, words: str) -> None:
        """A line of its own."""
        self._print(f"nearfar: {words}")

    def tell(self, task: SweepJob) -> None:
        """A node is through."""
        tasks = self._journal.tasks.values()
        through = sum(task.ended for task in tasks)
        one = outcome(self._journal, self._results, self._trust, task)
        reason = f": {one.reason}" if one.reason and one.verdict != "PASS" else ""
        self._print(f"nearfar: {task.node}: {one.verdict} ({through} of {len(tasks)}){reason}")

    def going_on(self) -> None:
        """On a terminal: how many nodes are through, measured now, and waiting; each call in the place of the last."""
        if not self._terminal:
            return
        tasks = self._journal.tasks.values()
        through = sum(task.ended for task in tasks)
        running = sum(task.outstanding and task.state != "PENDING" for task in tasks)
        pending = sum(task.outstanding and task.state == "PENDING" for task in tasks)
        many = "" if len(tasks) == 1 else "s"
        line = f"{through} of {len(tasks)} node{many} through, {running} being measured, {pending} queued"
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def _print(self, line: str) -> None:
        clear = "\r\033[K" if self._terminal else ""
        print(f"{clear}{line}", file=sys.stderr, flush=True)
