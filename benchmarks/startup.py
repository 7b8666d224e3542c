#!/usr/bin/env python3
"""What ./validate costs beside measuring: the time until the first program starts, and what ReFrame and the pack add.

Runs ./validate (set up before, so that this is a second run), watches for the first of nearfar's programs among its
children, and reads the times that the run itself noted (run.json). Aims: the first program within 2 s, ReFrame and the
pack under 3 s for all checks.

    benchmarks/startup.py                       ./validate, three times
    benchmarks/startup.py --runs 1 -- --cuda none
    benchmarks/startup.py --json                one JSON object, times in seconds
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
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
PROGRAMS = ("nearfar-copy", "nearfar-stream")
POLL = 0.005


def process_names() -> dict[int, tuple[int, str]]:
    """Every process: its id → (its parent's id, its name)."""
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                text = Path(entry.path, "stat").read_text()
            except OSError:  # it ended meanwhile
                continue
            name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :]
            found[int(entry.name)] = (int(rest.split()[1]), name)
    return found


def descends_from(process: int, ancestor: int, processes: dict[int, tuple[int, str]]) -> bool:
    """Is ``ancestor`` above ``process``?"""
    while process in processes and process != ancestor:
        process = processes[process][0]
    return process == ancestor


def run_once(arguments: list[str]) -> dict[str, float]:
    """Run ./validate; returns its times in seconds."""
    state = os.environ.get("NEARFAR_STATE") or str(CHECKOUT)
    latest = Path(state) / "reports" / "latest"
    before = os.path.realpath(latest)
    first = None
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        validate = subprocess.Popen([str(CHECKOUT / "validate"), *arguments], stdout=output, stderr=output)
        while validate.poll() is None:
            if first is None:
                processes = process_names()
                if any(
                    name in PROGRAMS and descends_from(process, validate.pid, processes)
                    for process, (_, name) in processes.items()
                ):
                    first = time.monotonic() - began
            time.sleep(POLL)
        whole = time.monotonic() - began
        if os.path.realpath(latest) == before:
            output.seek(0)
            sys.exit(f"./validate wrote no report (exit code {validate.returncode}):\n{output.read().decode()}")
    stages: dict[str, Any] = json.loads((latest / "run.json").read_text()).get("stages", {})
    times = {"whole": whole, **{f"stage {name}": float(seconds) for name, seconds in stages.items()}}
    if first is not None:
        times["until the first program"] = first
    if "programs" in stages:
        times["beside the programs"] = whole - float(stages["programs"])
    return times


def main() -> int:
    """Run, report the median of each time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="arguments of ./validate")
    options = parser.parse_args()
    subprocess.run([str(CHECKOUT / "validate"), "--setup-only"], check=True)
    runs = [run_once(options.arguments) for _ in range(options.runs)]
    medians = {name: statistics.median(run[name] for run in runs if name in run) for name in runs[0]}
    if options.json:
        print(json.dumps({"runs": runs, "median": medians}, indent=1))
    else:
        print(f"./validate {' '.join(options.arguments)}: median of {len(runs)} runs")
        for name, seconds in medians.items():
            print(f"  {name:26} {seconds:8.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
