#!/usr/bin/env python3
"""nearfar-copy beside nvbandwidth: the same paths, by copy engine and by kernel, in the same minutes, as a Markdown table.

    benchmarks/beside_nvbandwidth.py --nvbandwidth ~/nvbandwidth/nvbandwidth
    benchmarks/beside_nvbandwidth.py --nvbandwidth nvbandwidth --programs build/bin --memory 0

Each case of nvbandwidth is a process of its own, timed whole; so is nearfar-copy with the same cells. Of a case with several
figures (pairs of GPUs) the lowest and the highest are shown. "Ratio" is the lowest of the medians of nearfar over nvbandwidth's,
figure by figure where both have them in the same place, else the ratio of the medians over all.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """One case of nvbandwidth: its name, the cells that ask the same, and which of their flows it counts."""

    name: str
    cells: list[str]
    counts: Callable[[str], bool]


def cases(gpus: int, memory: int) -> list[Case]:
    """The cases for single paths, in nvbandwidth's order."""
    n = f"n{memory}"
    everyone = range(gpus)
    pairs = [(a, b) for a in everyone for b in everyone if a != b]
    both = [f"{n}:g{g}+g{g}:{n}" for g in everyone]
    found = [
        Case("host_to_device_memcpy_ce", [f"{n}:g{g}" for g in everyone], lambda flow: True),
        Case("device_to_host_memcpy_ce", [f"g{g}:{n}" for g in everyone], lambda flow: True),
        Case("host_to_device_bidirectional_memcpy_ce", both, lambda flow: flow.startswith("n")),
        Case("device_to_host_bidirectional_memcpy_ce", both, lambda flow: flow.startswith("g")),
    ]
    if gpus > 1:
        found += [
            Case("device_to_device_memcpy_read_ce", [f"g{a}:g{b}@g{b}" for a, b in pairs], lambda flow: True),
            Case("device_to_device_memcpy_write_ce", [f"g{a}:g{b}" for a, b in pairs], lambda flow: True),
        ]
    found += [
        Case("host_to_device_memcpy_sm", [f"{n}:g{g}/sm" for g in everyone], lambda flow: True),
        Case("device_to_host_memcpy_sm", [f"g{g}:{n}/sm" for g in everyone], lambda flow: True),
    ]
    if gpus > 1:
        found += [
            Case("device_to_device_memcpy_read_sm", [f"g{a}:g{b}@g{b}/sm" for a, b in pairs], lambda flow: True),
            Case("device_to_device_memcpy_write_sm", [f"g{a}:g{b}/sm" for a, b in pairs], lambda flow: True),
        ]
    return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvbandwidth", required=True, type=Path, help="the program")
    parser.add_argument("--programs", type=Path, default=Path("build/bin"), help="folder of nearfar-copy")
    parser.add_argument("--memory", type=int, default=0, help="NUMA node of the host memory")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args()
    for program in (args.nvbandwidth, args.programs / "nearfar-copy"):
        if not program.exists():
            print(f"beside_nvbandwidth: {program}: no such program", file=sys.stderr)
            return 2
    gpus = len(_run([args.programs / "nearfar-copy", "--json"])[0]["node"]["gpus"])
    rows = [_compare(case, args) for case in cases(gpus, args.memory)]
    everything = sorted({cell for case in cases(gpus, args.memory) for cell in case.cells})
    _, together = _run([args.programs / "nearfar-copy", "--json", *everything])
    print(
        "| case of nvbandwidth | nvbandwidth, GB/s | nearfar, GB/s | widest interval | ratio | nvbandwidth, s | nearfar, s |"
    )
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| `{row['case']}` | {_range(row['nvbandwidth'])} | {_range(row['nearfar'])} | ± {row['interval']:.2%} |"
            f" {row['ratio']:.4f} | {row['nvbandwidth_seconds']:.1f} | {row['nearfar_seconds']:.1f} |"
        )
    others = sum(row["nvbandwidth_seconds"] for row in rows)
    print(f"| all of these | | | | | {others:.1f} | {together:.1f} (one process) |")
    if args.json:
        args.json.write_text(json.dumps({"rows": rows, "together_seconds": together}, indent=1) + "\n")
    return 0


def _compare(case: Case, args: argparse.Namespace) -> dict[str, Any]:
    theirs, their_seconds = _run([args.nvbandwidth, "-j", "-t", case.name])
    matrix = theirs["nvbandwidth"]["testcases"][0]["bandwidth_matrix"]
    known = [float(value) for row in matrix for value in row if value != "N/A" and float(value) > 0]
    document, our_seconds = _run([args.programs / "nearfar-copy", "--json", *case.cells])
    rates = [flow["rate"] for result in document["results"] for flow in result["flows"] if case.counts(flow["flow"])]
    if len(rates) != len(known):
        words = "; ".join(cell["reason"] for cell in (*document["skipped"], *document["failed"]))
        raise SystemExit(f"beside_nvbandwidth: {case.name}: {len(rates)} figures beside {len(known)}: {words}")
    ours = [rate["median"] for rate in rates]
    one_to_one = min(mine / other for mine, other in zip(ours, known))
    overall = statistics.median(ours) / statistics.median(known)
    return {
        "case": case.name,
        "nvbandwidth": known,
        "nearfar": ours,
        "interval": max((rate["ci"][1] - rate["ci"][0]) / 2 / rate["median"] for rate in rates),
        "ratio": one_to_one if len(matrix) == 1 else overall,
        "nvbandwidth_seconds": their_seconds,
        "nearfar_seconds": our_seconds,
    }


def _run(command: list[Any]) -> tuple[dict[str, Any], float]:
    begin = time.monotonic()
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    seconds = time.monotonic() - begin
    try:
        return json.loads(ran.stdout), seconds
    except ValueError:
        raise SystemExit(f"beside_nvbandwidth: {command[0]} printed no JSON: {ran.stderr.strip()[-200:]}") from None


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low}–{high}"


if __name__ == "__main__":
    sys.exit(main())
