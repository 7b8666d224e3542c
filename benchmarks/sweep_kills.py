#!/usr/bin/env python3
"""Sweeps killed (SIGKILL) at random moments and resumed until they are through, on a private Slurm (as root): is each node measured
once, and the page right? The first kill is counted from when the sweep's directory is there, the next ones from the start of a process.

python benchmarks/sweep_kills.py [--sweeps 40] [--nodes 6] [--kills 2] [--seed 1]

The jobs are stand-ins that wait a moment and leave a result. Exit code 1 where a node was measured twice, or has no
result.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.base.places import IMPORT_PATH as CHECKOUT
from tests.support import fake_node_run, sweeping
from tests.support.private_slurm import PrivateSlurm

_JOB = """\
export PYTHONPATH={checkout} FAKE_SECONDS=$((RANDOM % 4)).$((RANDOM % 10))
exec {python} {fake} {{{{ results }}}} {{{{ sweep }}}} {{{{ level }}}} "$1" "$2"
"""


def one(
    slurm: PrivateSlurm, variables: dict[str, str], results: Path, name: str, kills: list[float]
) -> tuple[int, str]:
    """A sweep that is killed as often as ``kills`` has seconds, unless it ends before; how often it was, and what was wrong, or
    nothing."""
    begin = ["--partition=all", "--level=quick", "--max-jobs=3", f"--name={name}"]
    words = ["sweep", f"--results={results}", "--result-wait=3"]
    done = 0
    for seconds in [*kills, None]:
        begun = (results / name / "sweep.json").exists()
        running = sweeping.started(slurm, variables, *words, *([f"--resume={name}"] if begun else begin))
        if not begun:
            sweeping.until((results / name / "sweep.json").exists, f"{name} is begun")
        try:
            _, said = running.communicate(timeout=120 if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.communicate()
            if seconds is None:
                return done, "it did not end within two minutes"
            done += 1
            continue
        if running.returncode:
            return done, f"exit code {running.returncode}: {said.strip()[-400:]}"
    sweeping.until(lambda: not slurm.run(["squeue", "-h"]).stdout, "no job is left that could measure again")
    measured = Counter(line.split()[0] for line in (results / name / "measured").read_text().splitlines())
    report = json.loads((results / name / "sweep-report.json").read_text())
    verdicts = {node["node"]: node["verdict"] for node in report["nodes"]}
    if measured != Counter(slurm.names):
        return done, f"measured: {dict(measured)}"
    page = (results / name / "index.html").read_text()
    if verdicts != dict.fromkeys(slurm.names, "PASS") or not all(node in page for node in slurm.names):
        return done, f"the report says {verdicts}"
    return done, ""


def main() -> int:
    """All sweeps, one after the other; a line for each that went wrong, and the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sweeps", type=int, default=40)
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    choose, began, wrong, kills = random.Random(asked.seed), time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder, PrivateSlurm(cpus=2, gpus=0, nodes=asked.nodes) as slurm:
        place = Path(folder)
        variables = sweeping.site(place, slurm)
        script = _JOB.format(checkout=CHECKOUT, python=sys.executable, fake=fake_node_run.__file__)
        sweeping.stand_in_jobs(place / "site", script)
        for number in range(asked.sweeps):
            moments = [choose.uniform(0.0, 3.0), *(choose.uniform(0.5, 4.0) for _ in range(asked.kills - 1))]
            done, problem = one(slurm, variables, place / "results", f"s{number}", moments)
            kills += done
            if problem:
                wrong += 1
                print(f"sweep {number}, killed after {', '.join(f'{m:.2f}' for m in moments)} s: {problem}", flush=True)
    print(
        f"{asked.sweeps} sweeps of {asked.nodes} nodes, {kills} kills: {wrong} wrong; {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
