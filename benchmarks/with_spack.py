#!/usr/bin/env python3
"""What Spack adds to a repeated validate: the same check with Spack's programs and with CMake's, in turn.

Counted is the wall time of the whole command less what the measuring program took of it, which is no business of either. Aim: under 1 s.
Needs a Spack (SPACK_ROOT or PATH) that has installed the environment: the first run, which is not counted, sees to that.

    benchmarks/with_spack.py                   five runs of each, medians
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
CHECK = "host_memory_check"


def seconds(way: str) -> float:
    """Wall time of one validate less its program's."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        words = ["validate", "--with", way, "--check", CHECK, "--report-dir", str(run)]
        environment = {k: v for k, v in os.environ.items() if k != "NEARFAR_PROGRAMS"}
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "nearfar", *words], cwd=CHECKOUT, env=environment, capture_output=True, text=True
        )
        whole = time.monotonic() - began
        if done.returncode != 0:
            sys.exit(f"--with {way}: exit code {done.returncode}: {done.stderr.strip()}")
        return whole - float(json.loads((run / "run.json").read_text())["stages"]["programs"])


def main() -> int:
    """Run both ways in turn, report medians and the difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="of each way (default: 5)")
    options = parser.parse_args()
    for way in ("system", "spack"):
        seconds(way)  # builds what is missing
    pairs = [(seconds("system"), seconds("spack")) for _ in range(options.runs)]
    system, through_spack = (statistics.median(column) for column in zip(*pairs))
    added = statistics.median(b - a for a, b in pairs)
    print(
        f"beside the program, medians of {options.runs}: system {system:.2f} s, spack {through_spack:.2f} s; added {added:.2f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
