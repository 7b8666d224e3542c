#!/usr/bin/env python3
"""How often the judge calls a GPU unsteady on a shared host, on healthy machines and on ones with a fault that comes and goes.

Each run gives every GPU visits of both directions from a trace of a real machine, one after the other from a place drawn for
each, three to eight until three agree within 0.3 %. The fault takes its part of the rate in a share of the visits of GPU 0. Prints
a table in Markdown.

    benchmarks/steadiness_study.py TRACE.json [--runs 300] [--seed 1]     a trace with visits of n0:g0 and g0:n0 (see visit_traces.py)
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from statistics import median
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from benchmarks.visit_traces import Trace, Unreadable, read  # noqa: E402
from nearfar import measurement  # noqa: E402
from nearfar.topology import Gpu, Node, NumaNode, Package, node_to_document  # noqa: E402
from nearfar.verdict import CaseInfo, judge  # noqa: E402

SUBJECT = CaseInfo("host_device_check", "s", "p", "system", "n", "2026-11-20T09:00:00Z")
#: Visits, samples of each, and when three visits are enough.
LEAST, MOST, SAMPLES, AGREE = 3, 8, 6, 0.003
#: What a fault leaves of a rate (−5.6 %), and the shares of visits that have it.
LEFT, SHARES = 0.944, (0.0, 0.3, 0.5, 0.8)


def visits_of(trace: Trace, source: random.Random, share: float) -> list[list[float]]:
    """The visits of one path in one run."""
    first = source.randrange(len(trace.visits))
    found: list[list[float]] = []
    while len(found) < MOST:
        samples = trace.visits[(first + len(found)) % len(trace.visits)][1][:SAMPLES]
        part = LEFT if source.random() < share else 1.0
        found.append([each * part for each in samples])
        best = max(max(visit) for visit in found)
        if len(found) >= LEAST and sum(sorted(visit)[-2] >= best * (1 - AGREE) for visit in found) >= LEAST:
            break
    return found


def result(cell: str, visits: list[list[float]]) -> dict[str, Any]:
    """A result of a measurement document; visits lie a second apart."""
    samples = [each for visit in visits for each in visit]
    ranked, middle = sorted(samples), median(samples)
    plateau = ranked[int(0.9 * len(ranked))]
    rate = {
        "unit": "GB/s", "plateau": plateau, "interval": [plateau, plateau], "steadiness": min(1.0, middle / plateau), "median": middle,
        "mad": 0.0, "ci": [middle, middle], "min": ranked[0], "max": ranked[-1], "n": len(samples), "samples": samples,
    }  # fmt: skip
    return {
        "quantity": "copy", "cell": cell, "bytes": 1 << 28, "converged": True, "verified": True,
        "visits": [{"at": float(i), "seconds": 0.06, "n": len(visit)} for i, visit in enumerate(visits)],
        "flows": [{"flow": cell, "rate": rate}],
    }  # fmt: skip


def degraded(gpus: int, share: float, h2d: Trace, d2h: Trace, source: random.Random) -> bool:
    """Whether the judge calls a figure of a run DEGRADED."""
    node = Node(
        "n", (Package(0, (0,)),), (NumaNode(0, 0, (0,), 1 << 38),), tuple(Gpu(i, f"0000:{i:02x}:00.0", numa_node=0) for i in range(gpus))
    )  # fmt: skip
    results = []
    for gpu in range(gpus):
        own = 0.0 if gpu else share
        results += [
            result(f"n0:g{gpu}", visits_of(h2d, source, own)),
            result(f"g{gpu}:n0", visits_of(d2h, source, own)),
        ]
    document = measurement.from_raw({
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy"}, "node": node_to_document(node),
        "results": results, "skipped": [], "failed": [],
    })  # fmt: skip
    found = judge(document, {}, subject=SUBJECT, metrics=measurement.metrics(document), host="shared")
    return found.verdict == "DEGRADED"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        traces = [each for each in read([options.trace]) if each.visits]
        h2d, d2h = (next(each for each in traces if each.name.split()[-1] == cell) for cell in ("n0:g0", "g0:n0"))
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    except StopIteration:
        print(f"{options.trace}: no visits of n0:g0 and g0:n0 in it", file=sys.stderr)
        return 2
    print("DEGRADED, per cent of the runs, by the share of visits with -5.6 %:\n")
    print(
        "| GPUs | " + " | ".join(f"{100 * share:.0f} %" for share in SHARES) + " |\n|---" + "|---" * len(SHARES) + "|"
    )
    for gpus in (2, 4, 8):
        source = random.Random(options.seed)
        shares = [sum(degraded(gpus, share, h2d, d2h, source) for _ in range(options.runs)) for share in SHARES]
        print(f"| {gpus} | " + " | ".join(f"{100 * count / options.runs:.1f}" for count in shares) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
