#!/usr/bin/env python3
"""How long `nearfar slurm act` takes to read a sweep's results and to decide, without Slurm.

python benchmarks/sweep_merge.py --nodes 1000 --keep /tmp/results
python benchmarks/act.py /tmp/results
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.ladder import Policy, Step
from nearfar.slurm import result
from nearfar.slurm.decide import DRAIN, decide
from nearfar.slurm.gather import gather
from nearfar.slurm.node_state import NodeState
from nearfar.slurm.observed import Past


def main() -> None:
    """Read, decide, and say how long each took."""
    results = Path(sys.argv[1]).absolute()
    first = next(result.folders(results))
    system = json.loads((first / result.RESULT).read_text(encoding="utf-8"))["system"]
    began, worked = time.perf_counter(), time.process_time()
    found = gather(results, None, system, frozenset({0, os.geteuid()}), time.time(), 0.0)
    read, worked = time.perf_counter() - began, time.process_time() - worked
    nodes = {run.node: NodeState(run.node, "IDLE", partitions=("gpu",)) for run in found.runs}
    began = time.perf_counter()
    policy = Policy(system, default=Step(DRAIN, DRAIN), max_age=time.time())
    decided = decide(found.runs, nodes, policy, Past(), time.time())
    seconds = time.perf_counter() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = sum(len(run.passed) + len(run.failures) for run in found.runs)
    print(f"{len(nodes)} nodes, {figures} judged figures, {len(found.refused)} results not believed")
    print(f"read in {read:.1f} s ({worked:.1f} s of one core), at most {most:.0f} MiB; decided in {seconds:.2f} s")
    print(f"{sum(d.evidence is not None for d in decided.nodes)} nodes with a FAIL")


if __name__ == "__main__":
    main()
