"""Stands in for `nearfar slurm node` in tests: leaves a result at once, and a line in the sweep's file ``measured``.
``FAKE_SLOW`` names nodes that are slow in pairs,
``FAKE_SLOW_PAIR`` one pair that is slow though its nodes are well."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path

from nearfar.slurm.results import RunInfo, parted, publish_result, result
from nearfar.slurm.sweep import SweepJob, slurm_jobs
from tests.support.node_results import utc
from tests.support.pair_results import figure, verdict_of


def main(results: str, sweep: str, level: str, node: str, attempt: str) -> None:
    """Write a run with one verdict, and hand it over."""
    suspects = set(os.environ.get("FAKE_SLOW", "").split())
    slow = suspects & set(node.split("+")) or node == os.environ.get("FAKE_SLOW_PAIR")
    host, now = socket.gethostname(), utc(time.time())
    number = os.environ.get("SLURM_JOB_ID", "")
    slurm_jobs.refuse_second(Path(results), sweep, SweepJob(parted(node), int(attempt)))
    with open(Path(results) / sweep / "measured", "a", encoding="utf-8") as stream:
        stream.write(f"{node} {attempt} {number}\n")
    time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
    metrics = [figure(9.0 if slow else 1.5)] if "+" in node else []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder)
        (run / host / "osu_check").mkdir(parents=True)
        (run / host / "osu_check/verdict.json").write_text(verdict_of(host, metrics, system="mine"))
        (run / "run.json").write_text(json.dumps({"system": "mine", "missing_cases": [], "interrupted": False}))
        slurm = {"job": int(number), "partition": None, "cluster": None} if number else None
        about = RunInfo(
            nodes=parted(node), hostname=host, level=level, sweep=sweep, started=now, ended=now, slurm=slurm
        )
        slurm_jobs.check_seen(Path(results), sweep)
        publish_result.leave(run, result.place(Path(results), sweep, node, int(attempt)), about)


if __name__ == "__main__":
    main(*sys.argv[1:])
