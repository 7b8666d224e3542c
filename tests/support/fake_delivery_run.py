"""Stands in for `nearfar slurm node` where a delivery is tried: leaves the run of a delivered node that nobody has. The sweep's directory's
parent has a file ``NODE.fault`` with words of ``delivered.FAULTS`` for each node with a fault, ``all.fault`` for all."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from nearfar.slurm.results import RunInfo, parted, publish_result, result
from nearfar.slurm.sweep import SweepJob, slurm_jobs
from tests.conftest import CHECKOUT
from tests.data.runs import delivered
from tests.support import sweeping
from tests.support.node_results import utc


def stand_in(site_directory: Path) -> None:
    """Let the jobs of a site's sweeps run this."""
    sweeping.stand_in_jobs(
        site_directory,
        f"export PYTHONPATH={CHECKOUT}\n"
        f'exec {sys.executable} {__file__} {{{{ results }}}} {{{{ sweep }}}} {{{{ level }}}} "$1" "$2"\n',
    )


def main(results: str, sweep: str, level: str, node: str, attempt: str) -> None:
    """Write a run, and hand it over."""
    number, now = os.environ.get("SLURM_JOB_ID", ""), utc(time.time())
    slurm_jobs.refuse_second(Path(results), sweep, SweepJob(parted(node), int(attempt)))
    files = [Path(results).parent / f"{name}.fault" for name in (node, "all")]
    faults = [word for path in files if path.exists() for word in path.read_text().split()]
    with tempfile.TemporaryDirectory() as folder:
        run = delivered.write(Path(folder) / "run", node, now, faults, seed=int(number or 0))
        slurm = {"job": int(number), "partition": None, "cluster": None} if number else None
        about = RunInfo(
            nodes=parted(node), hostname=node, level=level, sweep=sweep, started=now, ended=now, slurm=slurm
        )
        slurm_jobs.check_seen(Path(results), sweep)
        publish_result.leave(run, result.place(Path(results), sweep, node, int(attempt)), about)


if __name__ == "__main__":
    main(*sys.argv[1:])
