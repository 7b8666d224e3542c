#!/usr/bin/env python3
"""How long measuring takes, and what ./validate costs beside it.

First the programs alone: all of a node's cells, with process start, and how much of it is set-up. Then ./validate (set up
before, so that this is a second run): the time until the first program starts, watched for among its children, and the
times that the run itself noted (run.json).

Aims: nearfar-copy under 6 s on four H200s, 2.5 s of it set-up; the first program within 2 s of ./validate; ReFrame and
the pack under 3 s for all checks.

    benchmarks/times.py                       everything three times, medians
    benchmarks/times.py --runs 1 -- --cuda none
    benchmarks/times.py --json                one JSON object, times in seconds
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
PROGRAM = "nearfar-copy"
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


def run_program(path: Path) -> dict[str, float]:
    """Run one program on all its cells; returns its times in seconds, none where it had nothing to measure."""
    began = time.monotonic()
    done = subprocess.run([str(path), "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    whole = time.monotonic() - began
    document = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    if not document.get("results"):
        return {}
    set_up = sum(document.get("setup_seconds", {}).values())
    return {path.name: whole, f"{path.name}: set-up of it": set_up, f"{path.name}: cells": len(document["results"])}


def run_validate(arguments: list[str]) -> dict[str, float]:
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
                    name == PROGRAM and descends_from(process, validate.pid, processes)
                    for process, (_, name) in processes.items()
                ):
                    first = time.monotonic() - began
            time.sleep(POLL)
        whole = time.monotonic() - began
        if os.path.realpath(latest) == before:
            output.seek(0)
            sys.exit(f"./validate wrote no report (exit code {validate.returncode}):\n{output.read().decode()}")
    stages: dict[str, Any] = json.loads((latest / "run.json").read_text()).get("stages", {})
    times = {"./validate": whole}
    if first is not None:
        times["./validate: until the first program"] = first
    if "programs" in stages:
        times["./validate: beside the programs"] = whole - float(stages["programs"])
    return {**times, **{f"./validate: stage {name}": float(seconds) for name, seconds in stages.items()}}


def main() -> int:
    """Run everything, report the median of each time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="arguments of ./validate")
    options = parser.parse_args()
    subprocess.run([str(CHECKOUT / "validate"), "--setup-only"], check=True, stderr=subprocess.DEVNULL)
    programs = Path(os.environ.get("NEARFAR_STATE") or CHECKOUT) / "build" / "bin"
    runs = []
    for _ in range(options.runs):
        times: dict[str, float] = {}
        for program in sorted(programs.glob("nearfar-*")):
            times.update(run_program(program))
        runs.append({**times, **run_validate(options.arguments)})
    medians = {name: statistics.median(run[name] for run in runs if name in run) for name in runs[0]}
    if options.json:
        print(json.dumps({"runs": runs, "median": medians}, indent=1))
    else:
        print(f"seconds, medians of {len(runs)} runs")
        for name, value in medians.items():
            print(f"  {name:38} {value:8.3f}" if not name.endswith("cells") else f"  {name:38} {value:4.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
