#!/usr/bin/env python3
"""How long `nearfar slurm act` takes to read a sweep's results and to decide, without Slurm.

python benchmarks/sweep_merge.py --nodes 1000 --keep /tmp/results
python benchmarks/act.py /tmp/results [--nights 7]

With --nights the sweep is there so many times (links, in the directory that is named), a day older each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.site.drain_policy import DrainSteps, Policy
from nearfar.slurm.act.decide import decide
from nearfar.slurm.act.decision import DRAIN
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.findings import gathering
from nearfar.slurm.findings.gathering import TimeRange, gather
from nearfar.slurm.findings.log_summary import LogSummary
from nearfar.slurm.results import result
from nearfar.slurm.sweep import sweep_file


def lay_out(results: Path, nights: int) -> None:
    """The one sweep as several, a day apart."""
    (sweep,) = (path for path in results.iterdir() if path.is_dir() and "-night-" not in path.name)
    for night in range(1, nights):
        copy = results / f"{sweep.name}-night-{night}"
        if not copy.exists():
            shutil.copytree(sweep, copy, copy_function=os.link)
            own = (sweep / sweep_file.FILE).read_text().replace(f'"{sweep.name}"', f'"{copy.name}"', 1)
            (copy / sweep_file.FILE).unlink()
            (copy / sweep_file.FILE).write_text(own)
        for place in result.folders(results, copy.name):
            os.utime(place, (time.time() - night * 86400,) * 2)


def main() -> None:
    """Read, decide, and say how long each took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("--nights", type=int, default=1)
    asked = parser.parse_args()
    results = asked.results.absolute()
    lay_out(results, asked.nights)
    # When a file came to be there nobody can make up, but when it was changed.
    gathering._came = lambda place: place.lstat().st_mtime
    first = next(result.folders(results))
    system = json.loads((first / result.RESULT).read_text(encoding="utf-8"))["system"]
    # As `act` reads with its default policy: what came in the last 36 h, and what is older of nodes with a FAIL.
    window = TimeRange(0.0, time.time() - Policy.max_age)
    began, worked = time.perf_counter(), time.process_time()
    found = gather(results, None, system, frozenset({0, os.geteuid()}), time.time(), window)
    read, worked = time.perf_counter() - began, time.process_time() - worked
    nodes = {run.node: NodeState(run.node, "IDLE", partitions=("gpu",)) for run in found.runs}
    began = time.perf_counter()
    policy = Policy(system, default=DrainSteps(DRAIN, DRAIN), max_age=time.time())
    decided = decide(found.runs, nodes, policy, LogSummary(), time.time())
    seconds = time.perf_counter() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = sum(len(run.passed) + len(run.failures) for run in found.runs)
    print(f"{len(nodes)} nodes, {figures} judged figures, {len(found.refused)} results not believed")
    print(f"read in {read:.1f} s ({worked:.1f} s of one core), at most {most:.0f} MiB; decided in {seconds:.2f} s")
    print(f"{sum(d.evidence is not None for d in decided.nodes)} nodes with a FAIL")


if __name__ == "__main__":
    main()
