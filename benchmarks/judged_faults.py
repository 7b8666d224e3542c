#!/usr/bin/env python3
"""What the judge says of healthy nodes and of nodes with one fault, by references tuned from 1 to 100 simulated nodes.

Each row of the table: references made by ``nearfar tune``'s own code from so many healthy nodes of three runs each, new ones for every
ten nights; each night one more node of the fleet, its documents through ``verdict.judge`` with the references resolved, and
what is beyond a bound measured twice again. A night has the worst verdict of its four checks. Nothing is known of the node's
own past. Nodes, noise and faults: ``benchmarks/simulated_nights.py``. Prints Markdown; bounds are Wilson's, one-sided, 95 %.

    benchmarks/judged_faults.py                                     all, 15 minutes on two cores
    benchmarks/judged_faults.py --host own --nodes 5 100 --nights 100 --healthy 100
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from benchmarks.fault_trials import wilson  # noqa: E402
from benchmarks.simulated_nights import CHECKS, FAULTS, MODEL, NODE, Night, figures, judged_rates, levels  # noqa: E402
from nearfar.base import worst  # noqa: E402
from nearfar.history.tuning import ChosenSamples, TuneOptions, proposal  # noqa: E402
from nearfar.history.tuning.reference_text import CurrentFile  # noqa: E402
from nearfar.history.tuning.samples import NodeFigure, Pool, kind_of  # noqa: E402
from nearfar.measurement import Metric  # noqa: E402
from nearfar.verdict import CaseInfo, LaterLook, figure_verdict, judge, references  # noqa: E402
from nearfar.verdict.looks import measured_again  # noqa: E402
from nearfar.verdict.references import ReferenceFile  # noqa: E402

SIZES = (1, 3, 5, 10, 30, 100)
HOSTS = ("own", "shared")
#: Runs of each node that references are made from; nights judged by the same references; looks after the first.
RUNS, NIGHTS_OF_A_FILE, LATER = 3, 10, 2
WORDS = ("FAIL", "DEGRADED", "INDETERMINATE", "PASS")
TIME = "2026-11-20T09:00:00Z"
#: As ``nearfar tune`` has them.
OPTIONS = TuneOptions(False, ("nearfar", "tune"))


def tuned(n: int, host: str, source: random.Random) -> ReferenceFile:
    """The reference file that a tune proposes from ``n`` healthy nodes."""
    nodes = [levels(source) for _ in range(n)]
    return reference_file([[Night(node, host, source).values() for _ in range(RUNS)] for node in nodes])


def reference_file(
    runs: Sequence[Sequence[Mapping[str, float]]], stamp: Mapping[str, str] | None = None
) -> ReferenceFile:
    """The reference file that a tune proposes from the runs of each node with the software ``stamp``; a run has of each cell the
    plateau, GB/s."""
    when = datetime(2026, 11, 1, tzinfo=timezone.utc)
    chosen = ChosenSamples(tuple(_pools(runs)), ("simulated",), when, when, stamp or {}, {}, 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tuned.yaml"
        found = proposal.propose(chosen, CurrentFile(path, path), [], [], OPTIONS)
        path.write_text(found.text, encoding="utf-8")
        return ReferenceFile(path, references.known_checks())


def _pools(runs: Sequence[Sequence[Mapping[str, float]]]) -> Iterator[Pool]:
    """The figures of each node's runs, grouped as the tune groups what a history holds: by check and class of path."""
    for (check, row), metrics in _rows().items():
        one, found = metrics[0], []
        for metric in metrics:
            for number, own in enumerate(runs):
                values = tuple(run[str(metric.cell)] for run in own)
                found.append(NodeFigure(f"n{number:03}", metric.name, values))
        engine = "cpu" if one.quantity == "stream" else "ce"
        kind = kind_of(
            {"unit": one.unit, "quantity": one.quantity, "engine": engine, "cell": str(one.cell), "class": row}
        )
        yield Pool(check, MODEL, row, one.unit, kind, True, "", None, 0, tuple(found))


@cache
def _rows() -> dict[tuple[str, str], list[Metric]]:
    """The rates of a node by the row that speaks of them."""
    source = random.Random(0)
    found: dict[tuple[str, str], list[Metric]] = {}
    night = Night(levels(source), "own", source)
    for check in CHECKS:
        for metric in judged_rates(check, night.document(check)):
            found.setdefault((check, references.row_keys(metric)[-1]), []).append(metric)
    return found


def word(night: Night, file: ReferenceFile) -> str:
    """The verdict on a node-night: the worst of its checks, each with two later looks at what is beyond its bound."""
    return worst(_of_check(night, check, file) for check in CHECKS)


def _of_check(night: Night, check: str, file: ReferenceFile) -> str:
    document = night.document(check)
    metrics = figures(check, document)
    resolved = references.resolve(metrics, check, [file], NODE)
    subject = CaseInfo(check, "simulated", "gpu", "system", "n", TIME)
    beyond = [
        each
        for each in metrics
        if measured_again(figure_verdict.of_figure(each, resolved[each.name], None, False, NODE))
    ]
    if not beyond:
        return judge(document, resolved, subject=subject, metrics=metrics, host=night.host).verdict
    asked, cells = frozenset(each.name for each in beyond), {str(each.cell) for each in beyond}
    later = []
    for _ in range(LATER):
        again = night.document(check, cells)
        later.append(LaterLook(asked, TIME, again, {each.name: each for each in figures(check, again)}))
    return judge(document, resolved, subject=subject, metrics=metrics, host=night.host, later=later).verdict


def trial(host: str, n: int, fault: str, nights: int, seed: int) -> Counter[str]:
    """How many of ``nights`` have each word."""
    source = random.Random(f"{seed} {host} {n} {fault}")
    found: Counter[str] = Counter()
    while found.total() < nights:
        file = tuned(n, host, source)
        for _ in range(min(NIGHTS_OF_A_FILE, nights - found.total())):
            found[word(Night(levels(source), host, source, FAULTS[fault]), file)] += 1
    return found


def line(n: int, fault: str, counts: Counter[str]) -> str:
    """A row of the table."""
    nights = counts.total()
    most = [100 * wilson(counts[each], nights)[1] for each in WORDS]
    shown = [f"{100 * counts[each] / nights:.3g} (≤ {at:.{0 if at > 10 else 2}f})" for each, at in zip(WORDS, most)]
    return f"| {fault} | {n} | {nights} | {' | '.join(shown)} |"


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nights", type=int, default=200, help="of each fault and number of nodes")
    parser.add_argument("--healthy", type=int, default=1000, help="nights of healthy nodes")
    parser.add_argument("--nodes", type=int, nargs="+", default=SIZES, help="that references are tuned from")
    parser.add_argument("--host", choices=HOSTS, nargs="+", default=HOSTS)
    parser.add_argument("--fault", choices=FAULTS, nargs="+", default=list(FAULTS))
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    asked = [(host, fault, n) for host in options.host for fault in options.fault for n in options.nodes]
    with ProcessPoolExecutor(options.processes) as pool:
        running = [
            pool.submit(trial, host, n, fault, options.nights if fault != "healthy" else options.healthy, options.seed)
            for host, fault, n in asked
        ]
        for at, (host, fault, n) in enumerate(asked):
            if at == 0 or host != asked[at - 1][0]:
                print(
                    f"\nhost: {host}; per cent of the nights (at most)\n\n| fault | n | nights | {' | '.join(WORDS)} |\n|{'---|' * 7}"
                )
            print(line(n, fault, running[at].result()), flush=True)
    print(f"\nseed {options.seed}, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
