#!/usr/bin/env python3
"""What each term of the limits buys: the fleet study's worlds and faults with one number of ``thresholds`` changed at a time. Needs numpy.

benchmarks/limit_ablation.py             the table of benchmarks/studies/limits.md, some minutes of one core
benchmarks/limit_ablation.py "no floors"  one row of it
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from benchmarks.fleet import trials, worlds  # noqa: E402
from benchmarks.fleet.shares import together  # noqa: E402
from nearfar.verdict import thresholds  # noqa: E402

NOTHING = dict.fromkeys(thresholds.SPREAD, 1e-9)
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "spread of 0.6 % for lone copies": {"SPREAD": {**thresholds.SPREAD, "lone": 0.006}},
    "whole spread of runs": {"MIDDLE_OF_THREE": 1.0},
    "normal tail in place of Student's t": {"TAIL_FREEDOM": 400},
    "Student's t with 4 degrees": {"TAIL_FREEDOM": 4},
    "no floors": {"FAIL_FLOOR": NOTHING, "DEGRADED_FLOOR": NOTHING},
    "FAIL floor of 4.5 % for lone copies": {"FAIL_FLOOR": {**thresholds.FAIL_FLOOR, "lone": 0.045}},
    "DEGRADED floors of 3 and 7 %": {
        "DEGRADED_FLOOR": {**thresholds.DEGRADED_FLOOR, "lone": 0.03, "nvlink": 0.03, "stream": 0.07}
    },
}
#: Worlds whose healthy nodes no common factor moves.
QUIET = ("plain", "ceiling", "heavy tails", "alike paths", "wide", "two vendors", "uneven shares")
SIZES = (1, 3, 10, 100)


@contextmanager
def changed(numbers: dict[str, Any]) -> Iterator[None]:
    """With other thresholds."""
    before = {name: getattr(thresholds, name) for name in numbers}
    for name, value in numbers.items():
        setattr(thresholds, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(thresholds, name, value)


def row(name: str, host: str) -> str:
    """FAIL and DEGRADED of 1,000 healthy node-nights (the worst world), and faults that are FAIL on the first night, by n."""
    cells = []
    with changed(CHANGES[name]):
        for n in SIZES:
            found = [trials.healthy(trials.Case(host, n, 92, 1, world), 60, 6) for world in QUIET]
            fails, degraded = (
                max(1000 * together([getattr(f, word)]).part for f in found) for word in ("fails", "degraded")
            )
            of_fault = trials.faults(trials.Case(host, n, 92, 1), ("NVLink lane", "memory channel"), 10)
            lane, channel = (of_fault[fault].first.percent for fault in ("NVLink lane", "memory channel"))
            cells.append(f"{fails:.2g} / {degraded:.2g}; {lane} / {channel}")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    print(f"worlds: {', '.join(QUIET)} of {', '.join(worlds.NAMES)}\n")
    print(f"| term | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    for name in sys.argv[1:] or CHANGES:
        print(row(name, "own"), flush=True)


if __name__ == "__main__":
    main()
