"""A sweep's progress on standard error: a line for each node that is through, and on a terminal what is going on below."""

from __future__ import annotations

import sys

from .outcome import outcome
from .sweep_file import Sweep, SweepJob


class SweepProgress:
    """What is printed while a sweep goes on; standard output stays free for ``--json``."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._terminal = sys.stderr.isatty()

    def message(self, words: str) -> None:
        """A line of its own."""
        self._print(f"nearfar: {words}")

    def job_ended(self, job: SweepJob) -> None:
        """A line about a node that is through."""
        jobs = self._sweep.jobs.values()
        through = sum(job.ended for job in jobs)
        one = outcome(self._sweep, job)
        reason = f": {one.reason}" if one.reason and one.verdict != "PASS" else ""
        self._print(f"nearfar: {job.name}: {one.verdict} ({through} of {len(jobs)}){reason}")

    def counts(self) -> None:
        """On a terminal: how many nodes are through, measured now, and waiting; each call in the place of the last."""
        if not self._terminal:
            return
        jobs = self._sweep.jobs.values()
        through = sum(job.ended for job in jobs)
        running = sum(job.outstanding and job.state != "PENDING" for job in jobs)
        pending = sum(job.outstanding and job.state == "PENDING" for job in jobs)
        many = "" if len(jobs) == 1 else "s"
        line = f"{through} of {len(jobs)} node{many} through, {running} being measured, {pending} queued"
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)

    def _print(self, line: str) -> None:
        clear = "\r\033[K" if self._terminal else ""
        print(f"{clear}{line}", file=sys.stderr, flush=True)
