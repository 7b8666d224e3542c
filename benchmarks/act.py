#!/usr/bin/env python3
"""How long `nearfar slurm act` and `status` take, all included, where nothing is new: the ledger of many nodes and nights.

    python benchmarks/act.py [--nodes 5000] [--nights 7] [--checks 15] [--figures 20]

The ledger is filled as so many nights would, the results directory has a directory for every result, every node has a health finding;
`scontrol` is a script that prints as many idle nodes. One node has wrong data, one a slow figure: both are held, nothing is drained.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.base import Finding, utc_text
from nearfar.slurm.ledger import CheckRun, Ledger, add_run

_TIMES = 3
_CHECKOUT = Path(__file__).resolve().parents[1]
_SYSTEM = """\
system: bench
hosts: ["gpu[0001-9999]"]
act: {trusted: [root, USER], default: observe}
partitions:
  - {name: gpu}
"""


def fill(state: Path, results: Path, nodes: list[str], nights: int, checks: int, figures: int) -> float:
    """Fill the ledger and the results directory; the seconds that the last night took to enter."""
    now, took = time.time(), 0.0
    with Ledger.open(state) as ledger:
        for night in range(nights):
            at, sweep = now - (nights - night - 1) * 86400.0 - 3600.0, results / f"night-{night}"
            for node in nodes:
                (sweep / "nodes" / node / "1").mkdir(parents=True)
            (sweep / "sweep.json").write_text('{"merged": true}')
            os.utime(sweep / "sweep.json", (at, at))
            os.utime(sweep / "nodes", (at, at))
            began = time.perf_counter()
            with ledger.transaction():
                for node in nodes:
                    for check in range(checks):
                        wrong = node == nodes[0] and check == 0 and night == nights - 1
                        failures = (Finding("g0:n0", "FAIL", "wrong data", True, "cell.wrong_data"),) if wrong else ()
                        run = CheckRun(
                            node, f"check{check}_check", f"{night:08x}", at, at, "FAIL" if wrong else "PASS", failures, system="bench",
                            passed=frozenset(f"near.h2d.n{each}_g{each}" for each in range(figures)),
                        )  # fmt: skip
                        add_run(ledger, run)
                    ledger.write("INSERT INTO taken VALUES (?, ?)", f"bench:{sweep}/nodes/{node}/1", "run")
            took = time.perf_counter() - began
    return took


def health(folder: Path, nodes: list[str]) -> None:
    """A finding of every node's health check, a minute ago."""
    for node in nodes:
        finding: dict[str, object] = {
            "schema": "nearfar-health/1", "run": f"{time.time_ns() & 0xFFFFFFFF:08x}", "node": node, "hostname": node, "system": "bench",
            "partition": "gpu", "time": utc_text(), "boot": None, "seconds": 0.3, "verdict": "PASS", "findings": [],
        }  # fmt: skip
        (folder / f"{node}.json").write_text(json.dumps(finding))


def pretended(folder: Path, nodes: list[str]) -> dict[str, str]:
    """A site, and a Slurm of idle nodes; the variables that lead there."""
    (folder / "site" / "systems").mkdir(parents=True)
    (folder / "site" / "systems" / "bench.yaml").write_text(_SYSTEM.replace("USER", str(os.geteuid())))
    table = "\n".join(
        f"NodeName={node} Arch=x86_64 CoresPerSocket=48\n   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=0.10\n"
        "   State=IDLE ThreadsPerCore=1\n   Partitions=gpu\n   BootTime=2026-11-01T00:00:00 SlurmdStartTime=2026-11-01T00:00:00\n"
        for node in nodes
    )
    (folder / "table").write_text(table + "\n")
    (folder / "bin").mkdir()
    program = folder / "bin" / "scontrol"
    program.write_text(
        f"#!/bin/sh\ncase $* in *config*) printf 'ClusterName = bench\\nSlurmctldPort = 1\\n' ;; *) exec cat {folder}/table ;; esac\n"
    )
    program.chmod(0o755)
    return {"NEARFAR_SITE": str(folder / "site"), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def main() -> None:
    """Fill it, and run each command several times: others use the machine, too."""
    parser = argparse.ArgumentParser()
    for name, value in (("nodes", 5000), ("nights", 7), ("checks", 15), ("figures", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    nodes = [f"gpu{number:04}" for number in range(1, asked.nodes + 1)]
    with tempfile.TemporaryDirectory(prefix="nearfar-bench-") as place:
        folder = Path(place)
        for name in ("results", "health", "state"):
            (folder / name).mkdir()
        took = fill(folder / "state", folder / "results", nodes, asked.nights, asked.checks, asked.figures)
        figures = asked.nodes * asked.nights * asked.checks * asked.figures
        size = (folder / "state" / "ledger.db").stat().st_size / 1e6
        print(
            f"{asked.nodes} nodes, {asked.nights} nights, {figures / 1e6:.1f} million figures: {size:.0f} MB; the last in {took:.1f} s"
        )
        variables = {**os.environ, "PYTHONPATH": str(_CHECKOUT), **pretended(folder, nodes)}
        places = [f"--{name}={folder / name}" for name in ("results", "health", "state")]
        for words in (["act"], ["act"], ["status"], ["status", nodes[0]], ["status", "--json"], ["act", "--dry-run"]):
            for _ in range(_TIMES):
                if words == ["act"]:
                    health(folder / "health", nodes)
                before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                command = [sys.executable, "-m", "nearfar", "slurm", words[0], *places, *words[1:]]
                done = subprocess.run(command, env=variables, capture_output=True, text=True)
                seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                print(
                    f"{' '.join(words)}: {seconds:.2f} s ({cpu:.2f} s of CPU), exit code {done.returncode}, {done.stderr.strip()[-200:]}"
                )
        print(f"at most {after.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
