"""Stands in for `nearfar slurm node` in tests of deliveries: leaves the real documents of four H200s as those of its node; the sweep's
directory's parent has a file ``NODE.fault`` for each node with a fault."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from nearfar.slurm.results import RunInfo, parted, publish_result, result
from nearfar.slurm.sweep import SweepJob, job_script
from tests.data.runs import nightly
from tests.support.node_results import utc


def main(results: str, sweep: str, level: str, node: str, attempt: str) -> None:
    """Write a run of one check, and hand it over."""
    number, now = os.environ.get("SLURM_JOB_ID", ""), utc(time.time())
    job_script.claim(Path(results), sweep, SweepJob(parted(node), int(attempt)), number or None)
    fault = Path(results).parent / f"{node}.fault"
    with tempfile.TemporaryDirectory() as folder:
        slow = nightly.slow_gpu(2, 0.6) if fault.exists() else None
        run = nightly.run(Path(folder), {node: 1.0}, day=now[:10], at=now[11:19], change=slow, system="local")
        slurm = {"job": int(number), "partition": None, "cluster": None} if number else None
        about = RunInfo(
            nodes=parted(node), hostname=node, level=level, sweep=sweep, started=now, ended=now, slurm=slurm
        )
        job_script.check_seen(Path(results), sweep)
        publish_result.leave(run, result.place(Path(results), sweep, node, int(attempt)), about)


if __name__ == "__main__":
    main(*sys.argv[1:])
