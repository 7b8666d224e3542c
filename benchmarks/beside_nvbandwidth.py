#!/usr/bin/env python3
"""nearfar-copy beside nvbandwidth: the same paths, by copy engine and by kernel, in the same minutes, as a Markdown table.

    benchmarks/beside_nvbandwidth.py --nvbandwidth ~/nvbandwidth/nvbandwidth
    benchmarks/beside_nvbandwidth.py --nvbandwidth nvbandwidth --programs build/bin --memory 0

Each case of nvbandwidth is a process of its own, run `--tries` times; nearfar-copy visits the same cells in one process, between
the tries. Where nearfar has a plateau it stands beside the best of nvbandwidth's tries, where it has a median (flows that compete)
beside the median of the tries. Of a case with several figures (pairs of GPUs) the lowest and the highest are shown. "Ratio" is the
lowest of nearfar's over nvbandwidth's, figure by figure where both have them in the same place, else that of the medians over all.
Times are those of one process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvbandwidth", required=True, type=Path, help="the program")
    parser.add_argument("--programs", type=Path, default=Path("build/bin"), help="folder of nearfar-copy")
    parser.add_argument("--memory", type=int, default=0, help="NUMA node of the host memory")
    parser.add_argument("--tries", type=int, default=4, help="runs of each case of nvbandwidth (4)")
    parser.add_argument("--json", type=Path, help="write all figures there")
    args = parser.parse_args(arguments)
    if args.tries < 1:
        parser.error("--tries must be at least 1")
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
    before = args.tries // 2
    tries = [_nvbandwidth(case, args) for _ in range(before)]
    document, our_seconds = _run([args.programs / "nearfar-copy", "--json", *case.cells])
    tries += [_nvbandwidth(case, args) for _ in range(args.tries - before)]
    rates = [flow["rate"] for result in document["results"] for flow in result["flows"] if case.counts(flow["flow"])]
    matrix = tries[0][0]
    if any(len(_figures(other)) != len(rates) for other, _ in tries):
        words = "; ".join(cell["reason"] for cell in (*document["skipped"], *document["failed"]))
        raise SystemExit(
            f"beside_nvbandwidth: {case.name}: {len(rates)} figures beside {len(_figures(matrix))}: {words}"
        )
    each = list(zip(*(_figures(other) for other, _ in tries)))
    known = [max(values) if "plateau" in rate else statistics.median(values) for rate, values in zip(rates, each)]
    ours = [rate.get("plateau", rate["median"]) for rate in rates]
    one_to_one = min(mine / other for mine, other in zip(ours, known))
    overall = statistics.median(ours) / statistics.median(known)
    return {
        "case": case.name,
        "nvbandwidth": known,
        "nearfar": ours,
        "interval": max(_half_width(rate) for rate in rates),
        "ratio": one_to_one if len(matrix) == 1 else overall,
        "nvbandwidth_seconds": statistics.median(seconds for _, seconds in tries),
        "nearfar_seconds": our_seconds,
    }


def _nvbandwidth(case: Case, args: argparse.Namespace) -> tuple[list[list[str]], float]:
    """The matrix of one run of a case, and how long it took."""
    theirs, seconds = _run([args.nvbandwidth, "-j", "-t", case.name])
    return theirs["nvbandwidth"]["testcases"][0]["bandwidth_matrix"], seconds


def _figures(matrix: list[list[str]]) -> list[float]:
    return [float(value) for row in matrix for value in row if value != "N/A" and float(value) > 0]


def _half_width(rate: dict[str, Any]) -> float:
    """Of the interval of the figure, relative: the plateau's, or the median's."""
    low, high = map(float, rate.get("interval", rate["ci"]))
    return (high - low) / 2 / float(rate.get("plateau", rate["median"]))


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
