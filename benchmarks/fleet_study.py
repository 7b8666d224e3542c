#!/usr/bin/env python3
"""What nearfar's references, judge, own past and drains make of fleets: false alarms of healthy nodes, and how soon each fault is found.

Fleets are arrays (``benchmarks/fleet/``): figures with the noise of ``benchmarks/simulated_nights.py``, references by the real tune from
n nodes, a twin of the judge, the own past and ``act``, which ``agreement`` holds against the real ones. Prints Markdown, and which
aims are met; progress goes to standard error. Needs numpy.

    benchmarks/fleet_study.py                                          all
    benchmarks/fleet_study.py --scale 0.25 --only worlds faults        parts, with a quarter of the fleets
    benchmarks/fleet_study.py --hosts shared --references 10 100 --worlds season racks
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit("benchmarks/fleet_study.py needs numpy: .venv/bin/python -m pip install numpy")

from benchmarks.fleet import aims, study_tables, trials, worlds  # noqa: E402
from benchmarks.fleet.faults import FLEET_FAULTS  # noqa: E402
from benchmarks.fleet.trials import DRIVER_FLEETS, Case  # noqa: E402

HOSTS = ("own", "shared")
REFERENCES = (1, 2, 3, 5, 10, 30, 100)
#: Bad nodes of so many in a pool, by fault.
BAD = ((1, 3), (1, 5), (2, 5))
BAD_FAULTS = ("NVLink lane", "memory channel")
DRIVERS = ("at once", "rolling")
PARTS = ("worlds", "bad", "faults", "driver", "agreement")
Key = tuple[Any, ...]


class Study:
    """The trials that are asked for: begun at once, in processes of their own; their results by key."""

    def __init__(self, options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
        self.options, self._pool = options, pool
        self._running: dict[Key, Future[Any]] = {}
        self._began, self._done = time.monotonic(), 0
        for key, work, arguments in self._wanted():
            future = self._running[key] = pool.submit(work, *arguments)
            future.add_done_callback(partial(self._progress, key))

    def _progress(self, key: Key, _: Future[Any]) -> None:
        self._done += 1
        words = " ".join(map(str, key))
        print(
            f"{self._done}/{len(self._running)} {words}, {time.monotonic() - self._began:.0f} s",
            file=sys.stderr,
            flush=True,
        )

    def of(self, *begin: object) -> dict[Key, Any]:
        """The results of the keys that begin so, by the rest of the key."""
        whole = {key: future for key, future in self._running.items() if key[: len(begin)] == begin}
        return {key[len(begin) :]: future.result() for key, future in whole.items()}

    def _case(self, host: str, n: int, world: str = "plain") -> Case:
        return Case(host, n, self.options.nights, self.options.seed, world)

    def _times(self, count: int) -> int:
        scale: float = self.options.scale
        return max(1, round(count * scale))

    def _wanted(self) -> Iterator[tuple[Key, Callable[..., Any], tuple[Any, ...]]]:
        given, parts = self.options, self.options.only
        names = tuple(name for name, fault in FLEET_FAULTS.items() if not fault.of_fleet)
        for host in given.hosts:
            if "agreement" in parts:
                for number in range(self._times(trials.AGREEING)):
                    yield (host, "agreement", number), trials.real_node, (self._case(host, 0), number)
            for n in given.references:
                case = self._case(host, n)
                if "faults" in parts:
                    yield (host, "faults", n), trials.faults, (case, names, self._times(trials.FILES))
                for name in given.worlds if "worlds" in parts else ():
                    fleets = self._times(trials.WORLD_FLEETS)
                    yield (
                        (host, "worlds", name, n),
                        trials.healthy,
                        (self._case(host, n, name), trials.WORLD_NODES, fleets),
                    )
                for nodes in given.nodes if "driver" in parts else ():
                    for how in DRIVERS:
                        few = self._times(trials.DRIVER_FLEETS[nodes])
                        yield (host, "driver", how, nodes, n), trials.after_driver, (case, nodes, few, how == "rolling")
            for bad, n in BAD if "bad" in parts else ():
                for name in BAD_FAULTS:
                    few = self._times(trials.FILES)
                    yield (host, "bad", name, bad, n), trials.beside_bad, (self._case(host, n), name, bad, few)
                vendors = self._case(host, n, "two vendors"), "memory channel", 0, self._times(trials.FILES)
                yield (host, "bad", "channel, two vendors", 0, n), trials.beside_bad, vendors


def print_host(study: Study, host: str) -> None:
    """The tables of one kind of host."""
    show = study_tables
    if agreeing := study.of(host, "agreement"):
        case = study._case(host, 0)
        print(show.agreements(trials.agreement_of(case, [agreeing[key] for key in sorted(agreeing)]), host), flush=True)
    if found := study.of(host, "worlds"):
        print(show.worlds(found, host), flush=True)
    if found := study.of(host, "bad"):
        print(show.beside_bad(found, host), flush=True)
    faults = {n: each for (n,), each in study.of(host, "faults").items()}
    if faults:
        print(show.faults(faults, host), flush=True)
    if driver := study.of(host, "driver"):
        print(show.drivers(driver, host), flush=True)


def main() -> int:
    """Print the tables; 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--hosts", choices=HOSTS, nargs="+", default=HOSTS)
    parser.add_argument(
        "--nodes",
        type=int,
        choices=DRIVER_FLEETS,
        nargs="+",
        default=tuple(DRIVER_FLEETS),
        help="of a fleet with a new driver",
    )
    parser.add_argument("--worlds", choices=worlds.NAMES, nargs="+", default=worlds.NAMES)
    parser.add_argument(
        "--references",
        type=int,
        nargs="+",
        default=REFERENCES,
        metavar="N",
        help="nodes that references are tuned from",
    )
    parser.add_argument("--nights", type=int, default=92, help="of a fleet; a fault begins after thirty")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the fleets, files and compared nodes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.nights < trials.LEAST_NIGHTS:
        parser.error(
            f"--nights {options.nights}: a fault begins after thirty nights, and sixty follow: {trials.LEAST_NIGHTS} or more"
        )
    if not 0 < options.scale <= 100:
        parser.error(f"--scale {options.scale:g}: a number above 0, such as 0.25")
    if min(options.references) < 1:
        parser.error(f"--references {min(options.references)}: a number of nodes, from 1 on")
    began = time.monotonic()
    with ProcessPoolExecutor(options.processes) as pool:
        study = Study(options, pool)
        for host in options.hosts:
            print_host(study, host)
        print(aims.table({host: {part: study.of(host, part) for part in PARTS} for host in options.hosts}))
    print(f"\nseed {options.seed}, {time.monotonic() - began:.0f} s with {options.processes} processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
