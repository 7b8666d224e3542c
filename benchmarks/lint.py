#!/usr/bin/env python3
"""What a run's look at its files costs, and the whole of `nearfar lint`, as a Markdown table.

    benchmarks/lint.py
    benchmarks/lint.py --repeats 15

Each figure is the median over fresh processes: processor time and wall time of the look alone, after what a run needs
anyway (its modules, the system files). Beside the shipped systems: a node of eight GPUs and four NUMA nodes (behind
NVSwitches) with a row for every figure of every check on GPUs and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
EIGHT_GPUS = CHECKOUT / "tests/data/topologies/constructed-eight-gpus-nvswitch-subnuma.xml"
LOOKS = {
    "before_measuring": "lint.before_measuring()",
    "lint": "lint.lint(site_directories())",
}
CHECKS = ("host_device_check", "host_memory_check", "latency_check", "peer_check", "saturation_check", "sharing_check")

_TIMED = """
import json, time
import nearfar.run.validation
from nearfar.site import lint
from nearfar.base import site_directories
nearfar.run.validation.systems.site()
wall, processor = time.perf_counter(), time.process_time()
LOOK
print(json.dumps([time.perf_counter() - wall, time.process_time() - processor]))
"""


def eight_gpus(folder: Path) -> int:
    """Write a site with one system of such nodes; returns the number of its rows."""
    from nearfar.model.prediction import load_node_type
    from nearfar.site.expectations import filled, gpu_models
    from nearfar.site.lint import known_metrics

    for kind in ("systems", "nodes", "references"):
        (folder / kind).mkdir()
    node = f"node_type: eight\ndescription: eight GPUs\nsource: constructed\nxml: {EIGHT_GPUS}\nnvlink_generation: 4\n"
    (folder / "nodes/eight.yaml").write_text(node, encoding="utf-8")
    system = "system: eight\npartitions:\n  - {name: gpu, node_type: eight, features: [gpu]}\n"
    (folder / "systems/eight.yaml").write_text(system, encoding="utf-8")
    references: dict[str, object] = {"provenance": {"published": {"source": "constructed"}}}
    expected, count = filled(load_node_type("eight", [folder]).node, gpu_models([CHECKOUT / "site"])), 0
    for check in CHECKS:
        rows = known_metrics.rows(check, expected, frozenset()) or {}
        references[check] = {
            key: _row(min(m.ceiling or 0 for m in metrics), metrics[0].unit) for key, metrics in rows.items()
        }
        count += len(rows)
    (folder / "references/eight.yaml").write_text(json.dumps(references), encoding="utf-8")
    return count


def _row(ceiling: float, unit: str) -> list[object]:
    """A row that nothing is wrong with."""
    return [1.0 if unit == "1" else 0.85 * ceiling or 40.0, -0.05, 0.05, unit]


def timed(look: str, repeats: int, **environment: str) -> tuple[float, float]:
    """Medians of (wall, processor) seconds."""
    command = [sys.executable, "-c", _TIMED.replace("LOOK", LOOKS[look])]
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), **environment}
    runs = []
    for _ in range(repeats):
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="processes for each figure (default: 7)")
    args = parser.parse_args()
    sys.path.insert(0, str(CHECKOUT))
    print("| what | wall s | processor s |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        rows = eight_gpus(Path(folder))
        asked = [
            (f"a run on {name}", "before_measuring", {"NEARFAR_SYSTEM": name})
            for name in ("local", "keeneland", "summit")
        ]
        asked.append(
            (
                f"a run on eight GPUs, {rows} rows",
                "before_measuring",
                {"NEARFAR_SYSTEM": "eight", "NEARFAR_SITE": folder},
            )
        )
        asked.append(("the whole shipped site", "lint", {}))
        for words, look, environment in asked:
            wall, processor = timed(look, args.repeats, **environment)
            print(f"| {words} | {wall:.3f} | {processor:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
