#!/usr/bin/env python3
"""How often ``nearfar diagnose`` names the part that broke: simulated faults of every kind of part on several node types.

A fault multiplies a part's capacities by a factor; every figure gets noise of 0.5 % (standard deviation of its logarithm).
Faults that are not separable (noiseless figures nearer than 6 sigma to healthy or to another set of as many parts) are
counted apart. A change of a whole direction is one of 2 to 9 % of all GPUs' links to the host; an alarm is a part blamed for it.
Repeated on machines whose capacities differ by 3 % from the model's and whose flows share up to 10 %
unequally. Bounds are Wilson's, one-sided, 95 %. Node types that lack published capacities have assumed ones (see below).

    benchmarks/localisation.py                     everything, below ten minutes on one core
    benchmarks/localisation.py --faults 50         a look
    benchmarks/localisation.py --json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from benchmarks.fault_trials import BANDS, Trials, completed, kind_of, wilson  # noqa: E402
from nearfar.model.prediction import NodeType, implied_capacities, load_node_type  # noqa: E402
from nearfar.topology import parse_hwloc_xml  # noqa: E402

#: What is assumed where nothing is published, GB/s.
ASSUMED: dict[str, dict[str, float]] = {
    "summit": {"p0-p1": 64, "p1-p0": 64},
    "sierra": {"p0-p1": 64, "p1-p0": 64},
    "keeneland": {"g*.both": 10.5, "n*.memory": 20, "p0-p1": 8.8, "p1-p0": 8.8},
    "dl160": {"g*.h2d": 5.2, "g*.d2h": 5.4, "g*.both": 9.0, "n*.memory": 14, "switch:*.up": 6.1,
              "switch:*.down": 6.0, "switch:*.both": 20.0},
    "eight-gpus": {"g*.h2d": 55.5, "g*.d2h": 55.4, "g*.both": 102, "n*.memory": 130, "p0-p1": 150, "p1-p0": 150,
                   "g*.out": 396, "g*.in": 394},
}  # fmt: skip
EIGHT_GPUS = CHECKOUT / "tests/data/topologies/constructed-eight-gpus-nvswitch-subnuma.xml"
#: Machines with misfit that are drawn for each node type.
MACHINES = 200


def node_types() -> Iterator[NodeType]:
    """The node types, completed."""
    for name, assumed in ASSUMED.items():
        if name == "eight-gpus":
            node = parse_hwloc_xml(EIGHT_GPUS.read_text(), hostname=name)
            node_type = NodeType(name, node, implied_capacities(node))
        else:
            node_type = load_node_type(name, [CHECKOUT / "site"])
        yield completed(node_type, assumed)


def measure(
    faults: int, doubles: int, healthy: int, seed: int, misfit: float = 0.03, sharing: float = 0.10
) -> dict[str, Any]:
    """Run all trials; the counts by (arm, kind, band)."""
    counts: dict[str, Counter[str]] = {}
    trials = {t.name: Trials(t, seed=seed) for t in node_types()}
    kinds: dict[str, list[tuple[Trials, int]]] = {}
    for one in trials.values():
        for place, part in enumerate(one.parts):
            if one.responses.figures[place]:
                kinds.setdefault(kind_of(part), []).append((one, place))
    for arm, spread, unequal in (("exact", 0.0, 0.0), ("misfit", misfit, sharing)):
        machines = {name: [one.machine(spread, unequal) for _ in range(MACHINES)] for name, one in trials.items()}

        def run(key: str, one: Trials, factors: dict[int, float], machines: Any = machines) -> None:
            outcome = one.outcome(one.random.choice(machines[one.node_type.name]), factors)
            count = counts.setdefault(key, Counter())
            count.update(tried=1, separable=outcome.separable, named=outcome.named, covered=outcome.covered,
                         added=outcome.added)  # fmt: skip

        for kind, places in kinds.items():
            for band in BANDS:
                key = f"{arm} | single | {kind} | {band[0]} to {band[1]}"
                at = 0
                while counts.get(key, Counter())["separable"] < faults and at < 3 * faults:
                    one, place = places[at % len(places)]
                    run(key, one, {place: one.random.uniform(*band)})
                    at += 1
        for at in range(doubles):
            one = list(trials.values())[at % len(trials)]
            a, b = one.two_parts()
            run(f"{arm} | double", one, {a: one.random.uniform(0.3, 0.95), b: one.random.uniform(0.3, 0.95)})
        for at in range(healthy):
            one = list(trials.values())[at % len(trials)]
            alarm = one.false_alarm(one.random.choice(machines[one.node_type.name]))
            counts.setdefault(f"{arm} | healthy", Counter()).update(tried=1, alarms=alarm)
    # Last, so that they draw nothing that the trials of faults draw.
    for at in range(max(len(trials), doubles // 10)):
        one = list(trials.values())[at % len(trials)]
        direction, factor = one.random.choice(("h2d", "d2h")), one.random.uniform(0.91, 0.98)
        blamed, found = one.common(one.machine(misfit, sharing), direction, factor)
        counts.setdefault("misfit | direction of all GPUs", Counter()).update(tried=1, alarms=blamed, found=found)
    return {key: dict(count) for key, count in counts.items()}


def table(counts: dict[str, Any]) -> Iterator[str]:
    """The counts as lines of text."""
    for key, count in counts.items():
        if "alarms" in count:
            bound = wilson(count["alarms"], count["tried"])[1]
            found = f", the direction found in {count['found']}" if "found" in count else ""
            yield f"{key:58} {count['alarms']} alarms of {count['tried']} (at most {bound:.3%}){found}"
            continue
        n = count["separable"]
        low, high = wilson(count["named"], n)[0], wilson(count["added"], n)[1]
        words = f"named {count['named']}/{n} {count['named'] / max(1, n):.2%} (at least {low:.2%})"
        words += f", in the set {count['covered'] / max(1, n):.2%}, a healthy part blamed {count['added']} (at most {high:.2%})"
        yield f"{key:58} {words}, separable {n}/{count['tried']}"


def main() -> int:
    """Run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=1000, help="separable single faults of each kind and band")
    parser.add_argument("--doubles", type=int, default=1000, help="double faults in each arm")
    parser.add_argument("--healthy", type=int, default=6000, help="healthy nodes in each arm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misfit", type=float, default=0.03, help="of the machines' capacities from the model's")
    parser.add_argument("--sharing", type=float, default=0.10, help="how unequally their flows share")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    began = time.monotonic()
    counts = measure(options.faults, options.doubles, options.healthy, options.seed, options.misfit, options.sharing)
    if options.json:
        print(json.dumps({"seed": options.seed, "seconds": time.monotonic() - began, "counts": counts}, indent=1))
    else:
        for line in table(counts):
            print(line)
        print(f"seed {options.seed}, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
