"""What ``nearfar-contention`` measured, as figures with names. ``docs/reference/document.md`` defines quantities and subjects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.base import Finding
from nearfar.measurement import RATIO, Document, SubjectMetric, figure_of
from nearfar.topology import Node

from . import messages

#: Of MPI and of what moves data beside it, in the document.
MPI_LATENCY = "contention.mpi.latency"
MPI_BANDWIDTH = "contention.mpi.bandwidth"
MOVED = ("contention.gpu.bandwidth", "contention.stream.bandwidth")
#: Communicators alone: figures under their own name, never under OSU's.
ALONE = ("mpi.pingpong.latency", "mpi.stream.bandwidth")
#: Messages of the program's own choice, as subjects name them.
TRAFFICS = ("pingpong_8B", "pingpong_1MiB", "stream_1MiB")

_SUBJECT = re.compile(r"(within|across)\.(\w+)\.(\d+)\.((?:pingpong|stream)_(\w+))")
_WORDS = {
    "per_task": "a pair for each task",
    "all_cores": "pairs on all cores",
    "pairs": "pairs",
    "together": "threads together",
    "split": "threads split",
    "mpi_only": "MPI alone",
}
#: Keys of a result, what the figure's name ends with, and what a page says of it.
_PENALTIES = {
    "penalty": ("penalty", "penalty"),
    "tail_penalty": ("tail_penalty", "penalty of the 99th percentile"),
    "polled_penalty": ("polled_penalty", "penalty beside tasks that only poll"),
}


@dataclass(frozen=True)
class ContentionSubject:
    """What a result is about: where the pairs are, which arrangement, how many movers (MPI alone: pairs), which messages."""

    place: str
    word: str
    count: int
    traffic: str

    @property
    def words(self) -> str:
        """``a pair for each task (4 tasks), 8B ping-pong``."""
        kind, _, size = self.traffic.partition("_")
        many = "pair" if self.word == "mpi_only" else "task"
        across = ", between hosts" if self.place == "across" else ""
        messages = "ping-pong" if kind == "pingpong" else "stream of messages"
        return f"{_WORDS.get(self.word, self.word)} ({self.count} {many}{'s' if self.count != 1 else ''}{across}), {size} {messages}"


def subject(text: str) -> ContentionSubject | None:
    """``within.per_task.4.pingpong_8B``; None for what is not of this program."""
    match = _SUBJECT.fullmatch(text)
    return None if match is None else ContentionSubject(match[1], match[2], int(match[3]), match[4])


def results(document: Mapping[str, Any]) -> Iterator[tuple[ContentionSubject, Mapping[str, Any]]]:
    """The results of a raw document that are of this program."""
    for result in document.get("results") or []:
        about = subject(str(result.get("cell")))
        if about is not None and str(result.get("quantity")) in (MPI_LATENCY, MPI_BANDWIDTH, *MOVED, *ALONE):
            yield about, result


def cores(node: Node) -> int:
    """Cores of the node's host NUMA nodes that may be used; hardware threads of one core count once."""
    allowed = None if node.allowed_cpus is None else set(node.allowed_cpus)
    cpus = {cpu for numa in node.numa_nodes for cpu in numa.cpus if allowed is None or cpu in allowed}
    return len({next((core[0] for core in node.cores if cpu in core), cpu) for cpu in cpus})


def ranks(node: Node, movers: int, fill: bool) -> int:
    """How many ranks to start beside ``movers`` that copy in both directions: a pair for each, or pairs on all other cores.

    Each direction of a mover and each side of a pair has a core of its own. 0: there are too few.
    """
    left = cores(node) - 2 * movers
    pairs = left // 2 if fill else min(movers, left // 2)
    return movers + 2 * pairs if pairs > 0 else 0


def too_few_cores(node: Node) -> Finding | None:
    """Why a node with GPUs has nothing to ask: each direction of a GPU's copies and each side of a pair has a core of its own."""
    return messages.FEW_CORES.finding("cells", cores=cores(node), gpus=len(node.gpus)) if node.gpus else None


def subjects(sides: Sequence[str], counts: Sequence[int], place: str = "within") -> list[str]:
    """The subjects of a run on one host (``across``: on several), of each arrangement with each number of movers."""
    return [f"{place}.{side}.{count}.{traffic}" for count in counts for side in sides for traffic in TRAFFICS]


def quantities(subject: str) -> tuple[str, ...]:
    """What is measured of a subject: MPI, alone or beside the GPUs' copies, and these."""
    latency = "pingpong" in subject
    if ".mpi_only." in subject:
        return (ALONE[not latency],)
    return (MPI_LATENCY if latency else MPI_BANDWIDTH, MOVED[0])


def figures(document: Document) -> list[SubjectMetric]:
    """What MPI loses beside the tasks and the tasks beside MPI, as penalties; of MPI alone its latencies and bandwidths."""
    metrics: list[SubjectMetric] = []
    for about, result in results(document.raw):
        quantity = str(result["quantity"])
        if quantity in ALONE:
            what = "latency" if result["total"]["unit"] == "us" else "bandwidth"
            metrics.append(_figure(about, result, result["total"], what, what, quantity))
            continue
        side = "mpi" if quantity.startswith("contention.mpi.") else quantity.split(".")[1]
        what = quantity.rpartition(".")[2]
        owner = "MPI's" if side == "mpi" else "the GPUs'" if side == "gpu" else "STREAM's"
        for key, (suffix, text) in _PENALTIES.items():
            if key in result:
                metrics.append(
                    _figure(about, result, result[key], f"{side}.{what}_{suffix}", f"{owner} {what}, {text}", RATIO)
                )
    return metrics


def _figure(
    about: ContentionSubject, result: Mapping[str, Any], rate: Mapping[str, Any], what: str, text: str, quantity: str
) -> SubjectMetric:
    return SubjectMetric(
        **figure_of(result, rate), name=f"{result['cell']}.{what}", words=f"{about.words}: {text}",
        path_class=about.place, quantity=quantity, bytes=result.get("bytes"),
        question=f"{str(result['cell']).removeprefix(f'{about.place}.')}.{what}",
        rows=(f"{result['cell']}.{what}", f"{about.place}.{about.word}.{about.traffic}.{what}"),
    )  # fmt: skip


def findings(document: Document | None) -> list[Finding]:
    """Notes on what no penalty says: tasks that MPI starved, a layout that this node cannot have."""
    if document is None:
        return []
    starved = [
        f"{flow['flow']} ({about.words})"
        for about, result in results(document.raw)
        for flow in result["flows"]
        if flow.get("starved")
    ]
    notes = [messages.STARVED.finding("starved", tasks=starved)] if starved else []
    notes += [
        messages.NOT_SPLIT.finding("split", line=skip.reason)
        for skip in document.skipped
        if skip.cell == "split" and skip.code == "unsupported"
    ]
    if (document.raw.get("contention") or {}).get("oversubscribed"):
        notes.append(messages.OVERSUBSCRIBED.finding("oversubscribed"))
    return notes
