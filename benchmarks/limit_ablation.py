#!/usr/bin/env python3
"""What each term of the limits and each rule of the judge buys: the fleet study's worlds and faults with one number of ``thresholds``
changed at a time. Needs numpy.

benchmarks/limit_ablation.py             the tables of benchmarks/studies/limits.md, some minutes of one core
benchmarks/limit_ablation.py "no floors"  one row of them
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

import numpy as np  # noqa: E402

from benchmarks.fleet import judging, trials, worlds  # noqa: E402
from benchmarks.fleet.fleets import Fleet  # noqa: E402
from benchmarks.fleet.judging import Measured, measured  # noqa: E402
from benchmarks.fleet.shares import together  # noqa: E402
from benchmarks.judged_faults import LATER  # noqa: E402
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
#: Rules that judge a figure by more than its limits.
RULES: dict[str, dict[str, Any]] = {
    "all rules": {},
    "without the one-night rule": {"ONE_NIGHT": dict.fromkeys(thresholds.ONE_NIGHT, 1.0)},
    "without the sum over nights": {"EVIDENCE": dict.fromkeys(thresholds.EVIDENCE, 1e9)},
    "without the second level": {"WORST_KNOWN": thresholds.BASELINE_NIGHTS // 2},
    "without common loss": {"MOST_COMMON": 0.0},
    "without paths that fall together": {"MOST_FALL": 0.0},
    "without measuring again": {},
}
#: Worlds whose healthy nodes no common factor moves.
QUIET = ("plain", "ceiling", "heavy tails", "alike paths", "wide", "two vendors", "uneven shares")
SIZES = (1, 3, 10, 100)
#: Worlds in which a rule is at work, by what it spares; and faults, by when they are found.
SPARED = {"fails": ("wild runs",), "degraded": ("season", "boot modes"), "drains": ("unseen load", "load for nights")}
FOUND = {"copy engine -3 %": "noticed", "step -1 %": "sixty", "drift 0.1 %/week": "sixty"}


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


def measured_once(fleet: Fleet, left: np.ndarray, source: np.random.Generator) -> Measured:
    """A fleet's figures, each measured once."""
    seen = measured(fleet, left, source)
    return replace(seen, again=lambda at: np.stack([seen.values[at]] * LATER))


def rule_row(name: str) -> str:
    """FAIL, DEGRADED and drains of 1,000 healthy node-nights in the worlds that a rule is for, and nodes whose fault is found, own and
    shared hosts, references of ten nodes."""
    cells, hosts = [], ("own", "shared")
    judging.measured = measured_once if name == "without measuring again" else measured
    with changed(RULES[name]):
        for count, world in ((count, world) for count, names in SPARED.items() for world in names):
            fleets = [trials.healthy(trials.Case(host, 10, 92, 36, world), 60, 3) for host in hosts]
            cells.append(" / ".join(f"{1000 * getattr(each, count).part:.2g}" for each in fleets))
        faults = [trials.faults(trials.Case(host, 10, 92, 36), tuple(FOUND), 5) for host in hosts]
        cells += [" / ".join(getattr(each[fault], when).percent for each in faults) for fault, when in FOUND.items()]
    judging.measured = measured
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print the tables."""
    asked = sys.argv[1:] or [*CHANGES, *RULES]
    print(f"worlds: {', '.join(QUIET)} of {', '.join(worlds.NAMES)}\n")
    print(f"| term | {' | '.join(f'n = {n}' for n in SIZES)} |\n|---|{'---|' * len(SIZES)}")
    for name in (each for each in asked if each in CHANGES):
        print(row(name, "own"), flush=True)
    heads = [f"{count}: {world}" for count, names in SPARED.items() for world in names] + list(FOUND)
    print(f"\n| rule | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for name in (each for each in asked if each in RULES):
        print(rule_row(name), flush=True)


if __name__ == "__main__":
    main()
