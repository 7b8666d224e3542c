#!/usr/bin/env python3
"""What a figure loses where each round has fewer samples: plateaus of real runs, and the same from the first samples of each round.

benchmarks/samples_of_a_round.py 4 reports/SYSTEM/*      # for each kind of cell: spread between runs, and how far figures move
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.simulated_nights import plateau

PROGRAM = "nearfar-copy"


def kind_of(cell: str, quantity: str) -> str:
    """What a cell's noise depends on."""
    if "/x" in cell:
        return "shared by tasks"
    company = "several flows" if "+" in cell else "alone"
    return f"{quantity}, {company}, {'host memory' if cell.startswith(('n', 'c')) or ':n' in cell else 'GPUs alone'}"


def rounds_of(result: dict[str, Any]) -> list[list[float]]:
    """The samples of each round."""
    samples = iter(result["total"]["samples"])
    return [[next(samples) for _ in range(visit["n"])] for visit in result["visits"]]


def cells_of(run: Path) -> dict[tuple[str, str], list[list[float]]]:
    """The rounds of each cell of a run's rates."""
    found = {}
    for file in run.glob("*/*_check/document.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        for result in document["results"] if document["program"]["name"] == PROGRAM else []:
            if (
                result["quantity"] in ("copy", "stream")
                and not result.get("aspect")
                and len(result.get("visits") or []) > 1
            ):
                found[result["cell"], result["quantity"]] = rounds_of(result)
    return found


def main(arguments: Sequence[str]) -> int:
    """Print a line for each kind of cell."""
    first, runs = int(arguments[0]), [cells_of(Path(run)) for run in arguments[1:]]
    kinds: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for cell, quantity in sorted(set.intersection(*map(set, runs))):
        whole, fewer = (
            [plateau(value for rounds in run[cell, quantity] for value in rounds[:most]) for run in runs]
            for most in (sys.maxsize, first)
        )
        spread = [statistics.pstdev(values) / statistics.mean(values) for values in (whole, fewer)]
        shift = statistics.mean(fewer) / statistics.mean(whole) - 1
        kinds[kind_of(cell, quantity)].append((*spread, shift))
    print(
        f"{len(runs)} runs; spread between runs, median and worst cell: all samples, the first {first}; shift, median"
    )
    for kind, figures in sorted(kinds.items()):
        of_all, of_first, shifts = zip(*figures, strict=True)
        columns = [f"{100 * f(each):.3f} %" for each in (of_all, of_first) for f in (statistics.median, max)]
        print(f"{kind:40} {len(figures):3} cells  {'  '.join(columns)}  {100 * statistics.median(shifts):+.3f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
