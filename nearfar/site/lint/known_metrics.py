"""Which figures each check can have on a node, without measuring: the checks' own cells, answered by imagined documents.

The checks say the same to ReFrame; ``tests/site/test_lint_known_metrics.py`` asks both and holds them against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from nearfar import cells
from nearfar.cells import Cell
from nearfar.measurement import RATIO, AnyMetric, Metric, metrics
from nearfar.mpi import contention, load_balance
from nearfar.mpi.osu import mpi_figures as osu_figures
from nearfar.mpi.osu import subjects
from nearfar.topology import Node
from nearfar.verdict.references import row_keys

from . import synthetic_documents

#: The figures of a check by (node, the partition's features).
Question = Callable[[Node, frozenset[str]], Sequence[AnyMetric]]
#: A row's name -> the figures that it may speak of.
Rows = dict[str, list[AnyMetric]]


def rows(check: str, node: Node, features: frozenset[str]) -> Rows | None:
    """Every row that may speak of a figure of ``check`` on this node; None for a check that is not the pack's own."""
    question = QUESTIONS.get(check)
    if question is None:
        return None
    found: Rows = {}
    for metric in question(node, features):
        for key in row_keys(metric):
            found.setdefault(key, []).append(metric)
    return found


def figures(
    check: str, node: Node, features: Collection[str], asked: Mapping[Cell, Sequence[str]]
) -> Sequence[AnyMetric]:
    """Every figure that a check can have of the cells that it asks (with their quantities); where it asks none, every figure of
    its question."""
    question = QUESTIONS.get(check)
    if not asked:
        return [] if question is None else question(node, frozenset(features))
    return [
        m for cell, quantities in asked.items() for m in metrics(synthetic_documents.of_cells([cell], node, quantities))
    ]


def _host_device(node: Node, _: frozenset[str]) -> Sequence[Metric]:
    return metrics(synthetic_documents.of_cells(cells.host_device_matrix(node)[0], node))


def _host_memory(node: Node, _: frozenset[str]) -> Sequence[Metric]:
    return metrics(synthetic_documents.of_cells(cells.stream_matrix(node), node, ("stream",)))


def _latency(node: Node, _: frozenset[str]) -> Sequence[Metric]:
    return metrics(synthetic_documents.of_cells(cells.latency_cells(node)[0], node, synthetic_documents.LATENCIES))


def _peers(node: Node, _: frozenset[str]) -> Sequence[Metric]:
    asked = [*cells.peer_matrix(node)[0], *cells.exchanges(node)[0]]
    figures = metrics(synthetic_documents.of_cells(asked, node))
    return [m for m in figures if m.flow is None or not cells.divided_by_the_fabric(m.cell)]


def _saturation(node: Node, _: frozenset[str]) -> Sequence[Metric]:
    whole = cells.whole_loads(node)
    figures = metrics(synthetic_documents.of_cells(cells.saturation_ramps(node)[0], node))
    return [m for m in figures if m.flow is None or m.cell in whole]


def _sharing(node: Node, _: frozenset[str]) -> Sequence[Metric]:
    figures = metrics(synthetic_documents.of_cells(cells.sharing_ramps(node)[0], node))
    return [m for m in figures if m.flow is None or m.quantity == RATIO]


def _size_sweep(node: Node, _: frozenset[str]) -> Sequence[Metric]:
    return metrics(synthetic_documents.of_cells(cells.size_sweep(node)[0], node, curves=True))


def _mpi(node: Node, features: frozenset[str]) -> Sequence[AnyMetric]:
    asked = subjects.cases(node, nodes=2 if "two_nodes" in features else 1)
    return osu_figures.figures(synthetic_documents.of_mpi(asked, node))


def _saxpy(node: Node, _: frozenset[str]) -> Sequence[AnyMetric]:
    return load_balance.figures(synthetic_documents.of_saxpy(node)) if len(node.gpus) > 1 else []


def _contention(node: Node, _: frozenset[str], *, words: Sequence[str], every_count: bool) -> Sequence[AnyMetric]:
    movers = len(node.gpus)
    counts = range(1, movers + 1) if every_count else [movers]
    return contention.figures(
        synthetic_documents.of_contention(contention.subjects(words, counts) if movers else [], node)
    )


def _ping_pong(node: Node, _: frozenset[str]) -> Sequence[AnyMetric]:
    return contention.figures(synthetic_documents.of_contention(contention.subjects(["mpi_only"], [1], "across"), node))


#: By the check's name.
QUESTIONS: dict[str, Question] = {
    "contention_check": partial(_contention, words=("per_task", "all_cores", "pairs"), every_count=False),
    "host_device_check": _host_device,
    "host_memory_check": _host_memory,
    "latency_check": _latency,
    "load_balance_check": _saxpy,
    "osu_check": _mpi,
    "peer_check": _peers,
    "ping_pong_check": _ping_pong,
    "saturation_check": _saturation,
    "sharing_check": _sharing,
    "size_sweep_check": _size_sweep,
    "thread_split_check": partial(_contention, words=("together", "split"), every_count=True),
    "topology_check": lambda node, features: [],
}
