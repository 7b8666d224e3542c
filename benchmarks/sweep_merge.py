#!/usr/bin/env python3
"""How long merging a sweep takes: N node results (the run on four H200s of tests/data, its figures varied) to one page.

python benchmarks/sweep_merge.py [--nodes 1000] [--keep DIR]
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import random
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.base.verdicts import NOT_JUDGED, Finding, worst
from nearfar.slurm.results import publish_result, result
from nearfar.slurm.results.result import RunInfo
from nearfar.slurm.sweep import LEVELS, merge
from nearfar.slurm.sweep.sweep_file import Sweep, SweepJob

#: So often it is merged: others use the machine, too.
_TIMES = 3
#: One node in so many is slow between two of its GPUs.
_SLOW_EVERY = 97
_SLOW = "NV18.g2_g3"
_CHECKS = (
    "host_memory_check", "host_device_check", "peer_check", "saturation_check", "sharing_check", "latency_check",
    "size_sweep_check",
)  # fmt: skip


def finished_sweep(results: Path, nodes: list[str]) -> Sweep:
    """A sweep that is through."""
    now = time.time()
    jobs = {n: SweepJob((n,), 1, 100 + i, "COMPLETED", "", True, True) for i, n in enumerate(nodes)}
    made = Sweep(
        folder=results / "bench", level="accept", partition="gpu", minutes=LEVELS["accept"].minutes, max_jobs=32, started=now,
        deadline=now + 3600, jobs=jobs,
    )  # fmt: skip
    made.folder.mkdir(parents=True)
    made.save()
    return made


def template(folder: Path) -> tuple[Path, dict[str, dict[str, Any]]]:
    """One node's result, and its verdicts by file."""
    golden = importlib.import_module("tests.data.runs.golden")  # tests are not typed
    run = golden.write(folder / "run", checks=_CHECKS)
    place = result.place(folder / "template", "bench", "vm", 1)
    info = RunInfo(
        nodes=("vm",), hostname="vm", level="accept", sweep="bench", started="2026-11-20T09:00:00Z", ended="2026-11-20T09:05:00Z",
        slurm={"job": 1, "partition": "gpu", "cluster": "private"},
    )  # fmt: skip
    publish_result.leave(run, place, info)
    return place, {str(p.relative_to(place)): json.loads(p.read_text()) for p in place.glob("*/*/verdict.json")}


def varied(verdict: dict[str, Any], node: str, slow: bool, dice: random.Random) -> dict[str, Any]:
    """A verdict with its figures moved by half a percent, given bounds, and one of them slow where it is to be."""
    made = copy.deepcopy(verdict)
    for metric in made["metrics"]:
        value = metric["value"]
        metric["value"] = value * (1 + dice.gauss(0, 0.005))
        metric["reference"] = {"value": value, "lowest": value * 0.95, "highest": None, "unit": metric["unit"], "origin": "tuned",
                               "note": "made for this benchmark", "stale": False, "file": None}  # fmt: skip
        if slow and metric["name"] == _SLOW:
            metric.update(
                value=value * 0.8, verdict="FAIL", reason=f"GPU 2 to GPU 3: {value * 0.8:.1f} GB/s, expected more"
            )
    made["verdict"] = worst(metric["verdict"] for metric in made["metrics"])
    made["reasons"] = [metric["reason"] for metric in made["metrics"] if metric["verdict"] not in ("PASS", NOT_JUDGED)]
    made["node"] = "vm"
    return made


def fill(results: Path, nodes: list[str], source: Path, verdicts: dict[str, dict[str, Any]]) -> None:
    """Write each node's result; its documents, which a merge does not read, are links to the same files."""
    dice = random.Random(1)
    ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    told = {**json.loads((source / "result.json").read_text()), "ended": ended}
    for number, node in enumerate(nodes):
        place = result.place(results, "bench", node, 1)
        shutil.copytree(source, place, copy_function=lambda a, b: Path(b).hardlink_to(a))
        mine = {**copy.deepcopy(told), "node": node, "system": "bench"}
        for name, verdict in verdicts.items():
            made = varied(verdict, node, number % _SLOW_EVERY == 0, dice)
            text = json.dumps(made, ensure_ascii=False)
            (place / name).unlink()
            (place / name).write_text(text)
            mine["files"][name] = len(text.encode())
            entry = next(e for e in mine["checks"] if e["check"] == made["check"])
            entry.update(
                verdict=made["verdict"],
                findings=[_finding(m) for m in made["metrics"] if m["verdict"] not in ("PASS", NOT_JUDGED)],
            )
        mine["verdict"] = worst(entry["verdict"] for entry in mine["checks"])
        mine["reason"] = next((f["reason"] for e in mine["checks"] for f in e["findings"]), None)
        (place / "result.json").unlink()
        (place / "result.json").write_text(json.dumps(mine))


def _finding(metric: dict[str, Any]) -> dict[str, Any]:
    fields = {"cell": metric["subject"], "class": metric["path_class"], "value": metric["value"], "limit": metric["reference"]["lowest"],
              "unit": metric["unit"]}  # fmt: skip
    return Finding(
        metric["name"], metric["verdict"], metric["reason"], code=metric.get("code", ""), fields=fields
    ).to_raw()


def main() -> None:
    """Make the results, merge them, say how long that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the sweep there")
    args = parser.parse_args()
    nodes = [f"gpu{number:04}" for number in range(1, args.nodes + 1)]
    folder = Path(tempfile.mkdtemp(prefix="nearfar-bench-"))
    try:
        source, verdicts = template(folder)
        results = (args.keep or folder / "results").absolute()
        made = finished_sweep(results, nodes)
        fill(results, nodes, source, verdicts)
        metrics = sum(len(verdict["metrics"]) for verdict in verdicts.values())
        taken = []
        for _ in range(_TIMES):
            began, worked = time.perf_counter(), time.process_time()
            merged = merge.merge(made)
            taken.append((time.process_time() - worked, time.perf_counter() - began))
        worked, seconds = min(taken)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{len(nodes)} nodes, {metrics} figures each: merged in {seconds:.1f} s "
            f"({worked:.1f} s of one core, the least of {_TIMES} times), at most {most:.0f} MiB"
        )
        print(f"the page: {merged.page.stat().st_size / 1e6:.1f} MB; {merged.summary().splitlines()[0]}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
