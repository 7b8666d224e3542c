"""Stands in for `nearfar slurm node` in a soak: leaves a full run of what is in the node's own directory, ``good`` or ``wrong``."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from pathlib import Path

from tests.support.node_results import SYSTEM, leave
from tests.support.verdicts import judged


def publish(
    folder: Path,
    node: str,
    hard: bool,
    sweep: str = "",
    level: str = "accept",
    job: int | None = 1,
    seconds: float = 0.0,
) -> str:
    """Leave a run with wrong data, or one that passes; returns its number. It is in the journal of ``folder`` before it can be
    believed where it passes, and after that where it does not."""
    run, started = secrets.token_hex(4), time.time()
    time.sleep(seconds)
    ended = time.time()
    entry = {"node": node, "run": run, "hard": hard, "sweep": sweep, "started": started, "at": ended}
    if not hard:
        _note(folder, entry)
    leave(
        folder / "results", node, run, at=ended, took=ended - started, job=job, sweep=sweep, level=level, speed=None if hard else 55.0,
        wrong="wrong data" if hard else None, beside=[judged("topology_check", system=SYSTEM)],
    )  # fmt: skip
    if hard:
        _note(folder, {**entry, "at": time.time()})
    return run


def _note(folder: Path, entry: dict[str, object]) -> None:
    with open(folder / "jobs.jsonl", "a", encoding="utf-8") as journal:
        journal.write(json.dumps(entry) + "\n")


def main(folder: str, own: str, sweep: str, level: str, node: str) -> None:
    """A job's."""
    hard = (Path(own) / "hardware").read_text() == "wrong"
    publish(Path(folder), node, hard, sweep, level, int(os.environ["SLURM_JOB_ID"]), 1.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
