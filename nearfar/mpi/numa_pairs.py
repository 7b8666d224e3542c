"""Messages between two ranks on cores of chosen NUMA nodes, by ``nearfar-contention --between``: what is asked, and its figures.

A subject is ``n0-n1/pingpong_8B``: the NUMA nodes of the two ranks, and their messages. docs/reference/document.md has the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nearfar.base import Finding
from nearfar.binding import MPIS, RELATIONS, cores_of, pairs
from nearfar.cells import join_class
from nearfar.measurement import RATIO, RATIO_UNIT, Document, SubjectMetric, figure_of, quotient
from nearfar.topology import Node, parse_cpu_list

from . import messages
from .contention import ALONE, TRAFFICS

#: The class of a pair whose packages the system does not tell.
UNKNOWN = "unknown"
#: What a figure of another class is held against, and what its ratio is called.
RIGHT, OVER = RELATIONS[0], f"over_{RELATIONS[0]}"
_SUBJECT = re.compile(r"n(\d+)-n(\d+)/((pingpong|stream)_(\w+))")
_PLACES = {each: each.replace("_", " ").replace("numa", "NUMA") for each in (*RELATIONS, UNKNOWN)}


@dataclass(frozen=True)
class NumaPair:
    """The NUMA nodes of two ranks."""

    first: int
    second: int

    def __str__(self) -> str:
        """``n0-n1``, as subjects have it."""
        return f"n{self.first}-n{self.second}"

    @property
    def option(self) -> str:
        """As ``--between`` takes it."""
        return f"{self.first}-{self.second}"

    def relation(self, node: Node) -> str:
        """Its path class: one of ``RELATIONS``, or ``UNKNOWN``."""
        if self.first == self.second:
            return RELATIONS[0]
        packages = [numa.package if (numa := node.numa_node(index)) else None for index in (self.first, self.second)]
        if None in packages:
            return UNKNOWN
        return RELATIONS[1] if packages[0] == packages[1] else RELATIONS[2]


@dataclass(frozen=True)
class PairSubject:
    """What a result is about."""

    pair: NumaPair
    traffic: str

    def __str__(self) -> str:
        """``n0-n1/pingpong_8B``, as documents have it."""
        return f"{self.pair}/{self.traffic}"

    def words(self, node: Node) -> str:
        """``8 B ping-pong, host memory, n0 (beside g0) and n1 (beside g1, g2)``."""
        kind, _, size = self.traffic.partition("_")
        ends = dict.fromkeys((self.pair.first, self.pair.second))
        what = "ping-pong" if kind == "pingpong" else "stream of messages"
        return f"{spaced(size)} {what}, host memory, {' and '.join(_end(node, index) for index in ends)}"


def spaced(size: str) -> str:
    """``1MiB`` → ``1 MiB``."""
    return re.sub(r"^(\d+)", r"\1 ", size)


def _end(node: Node, index: int) -> str:
    beside = [f"g{gpu.index}" for gpu in node.gpus if gpu.numa_node == index]
    return f"n{index} (beside {', '.join(beside)})" if beside else f"n{index}"


def subject(text: str) -> PairSubject | None:
    """``n0-n1/pingpong_8B``; None for what is not of such a run."""
    match = _SUBJECT.fullmatch(text)
    return None if match is None else PairSubject(NumaPair(int(match[1]), int(match[2])), match[3])


def pairs_of(node: Node) -> list[NumaPair]:
    """The first pair of each relation that the node has, and the cores beside its GPUs, two GPUs at a time: an odd one with the
    first. Two ranks have a core each; what the cpuset hides is not asked for."""
    pairs_found = [NumaPair(*couple) for couple in pairs(node).values()]
    homes = [gpu.numa_node for gpu in node.gpus if gpu.numa_node is not None]
    couples = zip(homes[::2], [*homes[1::2], *homes[:1]])
    pairs_found += [
        NumaPair(*sorted(homes))
        for homes in couples
        if all(len(cores_of(node, home)) >= homes.count(home) for home in homes)
    ]
    return list(dict.fromkeys(pairs_found))


def subjects(node: Node) -> list[str]:
    """Every pair's messages: ping-pong of a small and a large size, and a stream."""
    return [f"{pair}/{traffic}" for pair in pairs_of(node) for traffic in TRAFFICS]


def quantities(subject: str) -> tuple[str, ...]:
    """What is measured of a subject."""
    return (ALONE["stream" in subject],)


def results(document: Mapping[str, Any]) -> Iterable[tuple[PairSubject, Mapping[str, Any]]]:
    """The results of a raw document that are of such a run."""
    for result in document.get("results") or []:
        about = subject(str(result.get("cell")))
        if about is not None and result.get("quantity") in ALONE:
            yield about, result


def figures(document: Document, node: Node) -> list[SubjectMetric]:
    """Latencies and bandwidths by the path class that ``node`` gives a pair, and of other classes what they are over those of one
    NUMA node. ``node``: the expected one."""
    before = [*_mpi_prefixes(document), ""]
    metrics = [_figure(about, result, node, before) for about, result in results(document.raw)]
    right: dict[str, SubjectMetric] = {}
    for metric in metrics:
        if metric.path_class == RIGHT:
            right.setdefault(_traffic(metric), metric)
    ratios = [
        _ratio(metric, right[_traffic(metric)], before)
        for metric in metrics
        if metric.path_class != RIGHT and _traffic(metric) in right and right[_traffic(metric)].value > 0
    ]
    return [*metrics, *ratios]


def _figure(about: PairSubject, result: Mapping[str, Any], node: Node, before: Sequence[str]) -> SubjectMetric:
    path_class = about.pair.relation(node)
    question = f"n{about.pair.first}_n{about.pair.second}.{about.traffic}"
    return SubjectMetric(
        **figure_of(result, result["total"]), name=f"{path_class}.{question}", words=f"{about.words(node)}: {_PLACES[path_class]}",
        path_class=path_class, quantity=str(result["quantity"]), rows=_rows(path_class, question, about.traffic, before),
        bytes=result.get("bytes"), question=question,
    )  # fmt: skip


def _ratio(wrong: SubjectMetric, right: SubjectMetric, before: Sequence[str]) -> SubjectMetric:
    path_class = join_class(wrong.path_class, OVER)
    rows = _rows(path_class, wrong.question, _traffic(wrong), before)
    return ratio(wrong, right, path_class, OVER, f"over {_PLACES[RIGHT]}", rows)


def ratio(
    wrong: SubjectMetric, right: SubjectMetric, path_class: str, derived: str, words: str, rows: tuple[str, ...]
) -> SubjectMetric:
    """The figure of a wrong placement over that of the right one."""
    return replace(
        wrong, name=f"{path_class}.{wrong.question}", derived=derived, value=wrong.value / right.value, unit=RATIO_UNIT,
        quantity=RATIO, interval=quotient(wrong.interval, right.interval), least=None, most=None,
        converged=wrong.converged and right.converged, words=f"{wrong.words}: {words}", rows=rows,
    )  # fmt: skip


def _traffic(metric: SubjectMetric) -> str:
    return metric.question.rpartition(".")[2]


def _rows(path_class: str, question: str, traffic: str, before: Sequence[str]) -> tuple[str, ...]:
    """Of this MPI's version, of this MPI, of any; each for these NUMA nodes, then for any of the class."""
    return tuple(f"{prefix}{path_class}.{row}" for prefix in before for row in (question, traffic))


def _mpi_prefixes(document: Document) -> list[str]:
    library = str((document.raw.get("mpi") or {}).get("library") or "")
    for name, mpi in MPIS.items():
        if mpi.library and (version := re.search(mpi.library, library)):
            return [f"{name}_{re.sub(r'[^A-Za-z0-9]', '_', version[1])}.", f"{name}."]
    return []


def findings(document: Document | None, node: Node) -> list[Finding]:
    """One for each subject whose ranks or their messages' memory were not where it says, by the expected ``node``."""
    if document is None:
        return []
    wrong = (_misplaced(about, result, node) for about, result in results(document.raw))
    return [finding for finding in wrong if finding]


def _misplaced(about: PairSubject, result: Mapping[str, Any], node: Node) -> Finding | None:
    item = f"{about} binding"
    for flow in result["flows"]:
        for index, prefix in ((about.pair.first, ""), (about.pair.second, "partner_")):
            numa, cpus = node.numa_node(index), flow.get(f"{prefix}cpus")
            ran = set(parse_cpu_list(cpus or ""))
            if numa is None or not ran or not ran <= set(numa.cpus):
                return messages.OTHER_CPUS.finding(item, cpus=cpus, numa_node=index)
            memory = flow.get(f"{prefix}memory_nodes")
            if memory is not None and numa.memory > 0 and memory != [index]:
                return messages.OTHER_MEMORY.finding(item, numa_node=index, memory=memory)
    return None
