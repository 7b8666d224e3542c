"""Cases that were measured, figures of several runs, and the measurement document that they make."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import statistics, utc_text
from nearfar.binding import Mpi
from nearfar.mpi import RankAccount
from nearfar.topology import Node, format_cpu_list, node_to_document

from . import table
from .benchmarks import BENCHMARKS
from .installed import OsuSupport
from .mpi_figures import LARGE, MIDDLE, SMALL
from .rank_places import Rank
from .subjects import MpiCase
from .table import OsuTable

#: Runs agree when they all lie within this part of their median.
AGREEMENT = 0.05
#: Runs that are as close as this need no further one.
CLOSE = 0.02
#: Fewer runs have no interval.
LEAST_RUNS = statistics.LEAST_FOR_INTERVAL


@dataclass
class MeasuredCase:
    """What is known of a case: the tables of its runs, and where its ranks were."""

    case: MpiCase
    program: Path
    support: OsuSupport
    ranks: list[Rank]
    tables: list[OsuTable] = field(default_factory=list)
    accounts: tuple[RankAccount, ...] = ()
    validated: bool = False
    nics: tuple[str, ...] = ()
    iterations: int | None = None
    waited: float = 0.0

    @property
    def agreed(self) -> bool:
        """Whether two runs say the same of the sizes that figures are taken at."""
        if len(self.tables) < 2:
            return False
        benchmark = BENCHMARKS[self.case.benchmark]
        for quantity in benchmark.quantities:
            curves = [table.values(shown, benchmark, quantity) for shown in self.tables]
            shared = set.intersection(*map(set, curves)) & {SMALL, MIDDLE, LARGE}
            if not all(agree([curve[size] for curve in curves], CLOSE) for size in shared):
                return False
        return True


def document(
    node: Node,
    mpi: Mpi | None,
    ready: Sequence[MeasuredCase],
    skipped: Sequence[Mapping[str, str]],
    failed: Sequence[Mapping[str, str]],
    started: float,
    command: Sequence[str],
) -> dict[str, Any]:
    """Everything that is known, with the software that it depends on. ``started``: seconds since 1970."""
    version = next((shown.version for measured in ready for shown in measured.tables), "")
    described = node_to_document(node)
    stamp = {"mpi": mpi.name if mpi else "", "osu": version}
    described["software"] = {**described.get("software", {}), **{key: value for key, value in stamp.items() if value}}
    return {
        "schema": "nearfar-measurement/2", "kind": "measured",
        "program": {"name": "osu-micro-benchmarks", "version": version, "command": list(command)},
        "started": utc_text(started),
        "seconds": round(time.time() - started, 3),
        "node": described,
        "results": [result for measured in ready for result in _results(measured)],
        "skipped": list(skipped), "failed": list(failed),
        "mpi": {
            "implementation": mpi.implementation if mpi else None,
            "version": mpi.version if mpi else None,
            "launcher": mpi.launcher if mpi else None,
            "library": mpi.library if mpi else None,
            "ranks": {str(measured.case): [_rank(*pair) for pair in zip(measured.ranks, measured.accounts)] for measured in ready},
            "nics": {str(measured.case): list(measured.nics) for measured in ready if measured.nics},
            "iterations": {str(measured.case): measured.iterations for measured in ready if measured.iterations},
            "waited": {str(measured.case): round(measured.waited, 3) for measured in ready},
        },
    }  # fmt: skip


def _results(measured: MeasuredCase) -> list[dict[str, Any]]:
    benchmark = BENCHMARKS[measured.case.benchmark]
    where: Mapping[str, Any] = {
        "cpus": format_cpu_list({cpu for account in measured.accounts for cpu in account.cpus}),
        "memory_nodes": sorted({node for account in measured.accounts for node in _bound(account) or ()}),
    }
    made = []
    for _, quantity, unit, _ in benchmark.columns:
        curves = [table.values(shown, benchmark, quantity) for shown in measured.tables]
        for size in sorted(set.intersection(*map(set, curves))):
            samples = [curve[size] for curve in curves]
            made.append({
                "quantity": quantity, "cell": str(measured.case), "bytes": size, "converged": agree(samples),
                "verified": True if measured.validated else None,
                "flows": [{"flow": str(measured.case), "rate": rate(samples, unit), **where}],
            })  # fmt: skip
    return made


def _rank(rank: Rank, account: RankAccount) -> dict[str, Any]:
    return {
        "rank": rank.rank, "host": account.host, "cpus": format_cpu_list(account.cpus), "numa_node": rank.numa_node,
        "memory_nodes": _bound(account),
        "gpu": rank.gpu.index if rank.gpu is not None else None,
    }  # fmt: skip


def _bound(account: RankAccount) -> list[int] | None:
    """The NUMA nodes that a rank's memory was bound to; None where it was bound to none."""
    return list(account.memory) if account.policy == "bind" else None


def rate(samples: Sequence[float], unit: str) -> dict[str, Any]:
    """The document's rate of one figure; ``n`` is the number of runs, whatever each repeated within itself."""
    interval = statistics.median_interval(samples)
    return {
        "unit": unit, "median": statistics.median(samples),
        "mad": statistics.deviation(samples),
        "ci": None if interval is None else list(interval), "min": min(samples), "max": max(samples), "n": len(samples),
        "samples": list(samples),
    }  # fmt: skip


def agree(samples: Sequence[float], within: float = AGREEMENT) -> bool:
    """Whether the runs agree; a single one agrees with nothing."""
    middle = statistics.median(samples)
    return len(samples) > 1 and max(abs(value - middle) for value in samples) <= within * middle
