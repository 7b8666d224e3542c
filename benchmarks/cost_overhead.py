"""What ``nearfar cost`` adds to a run: wall time beyond that of the program by itself, in pairs, and CPU time of all that was started.

    python benchmarks/cost_overhead.py [SECONDS [RUNS]]

A program that sleeps needs no CPU, so that all CPU time is the wrapper's and the watcher's.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from nearfar import cost
from nearfar.mpi import RankPlan


def main(seconds: float, runs: int) -> None:
    """Print both, in ms and as a part of the run."""
    cpu = sorted(os.sched_getaffinity(0))[0]
    scheme = cost.Scheme("bound", 1, (RankPlan(cpus=(cpu,)),))
    starter = cost.launcher("none", Path("sleep"), 1, (), oversubscribe=False)
    added, used = [], []
    with tempfile.TemporaryDirectory() as folder:
        runner = cost.Runner(["sleep", str(seconds)], starter, Path(folder))
        for _ in range(runs):
            began = time.monotonic()
            subprocess.run(["sleep", str(seconds)], check=True)
            alone = time.monotonic() - began
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            added.append(runner.run(scheme, None).seconds - alone)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    for what, values in (("wall time added", added), ("CPU time used", used)):
        part = median(values) / seconds
        print(
            f"{what}: median {median(values) * 1e3:.0f} ms ({part:.2%} of {seconds:g} s), at most {max(values) * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
