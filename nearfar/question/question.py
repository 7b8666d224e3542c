"""The parts of a question: what a check asks of a node, as data and functions of a node or a document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import NOT_JUDGED, Finding
from nearfar.cells import Cell, Skip
from nearfar.measurement import AnyMetric, Document, metrics
from nearfar.topology import Node

#: When a check is asked: by ``validate --quick``, by a nightly sweep, by ``validate`` and an acceptance.
QUICK, NIGHTLY, ACCEPT = "quick", "nightly", "accept"
LEVELS = (QUICK, NIGHTLY, ACCEPT)
#: The place on a page of a check that names none: behind the others, by name.
LAST = 1000


def no_note(node: Node) -> str:
    """Nothing excuses a node that has nothing to ask."""
    return ""


def no_findings(document: Document | None) -> list[Finding]:
    """The figures say it all."""
    return []


def of_cell(subject: Any) -> Sequence[str]:
    """A rate of each cell, of STREAM or of a copy; of other subjects any quantity answers."""
    if not isinstance(subject, Cell):
        return ()
    return ("stream",) if all(flow.kernel for flow in subject.flows) else ("copy",)


def smaller_sizes(document: Document | None) -> list[Finding]:
    """A note of each result that no reference of the usual size judges, because memory was in use and its arrays are smaller."""
    results = [] if document is None else document.results
    words = "another figure than that of the usual size, and not compared with it"
    return [
        Finding(str(result.cell), NOT_JUDGED, f"{result.cell}: {result.smaller}: {words}")
        for result in results
        if result.smaller
    ]


@dataclass(frozen=True)
class Question:
    """What one check asks. ``name`` is that of its file, of its class in ReFrame, and the key of its references and of its
    history."""

    name: str
    #: The heading on a page.
    title: str
    #: What it is about, in a list of checks.
    description: str
    #: The program that answers.
    program: str
    #: The cells (or other subjects) to ask of a node, and those that are left out with a reason.
    cells: Callable[..., tuple[Sequence[Any], Sequence[Skip]]]
    #: Who asks it; none: it is asked by name alone.
    levels: tuple[str, ...] = ()
    #: The place on a page, the lowest first.
    order: int = LAST
    #: Which partitions have what it asks for: ReFrame's ``valid_systems``, by features.
    systems: tuple[str, ...] = ("*",)
    #: Features of a partition that change what is asked, beside those of ``systems``.
    features: tuple[str, ...] = ()
    #: The program's options beside the cells and the GPUs.
    options: tuple[str, ...] = ()
    #: Why it is skipped on a node that has nothing of its kind; empty: it looks at any node.
    nothing_to_ask: str = ""
    #: Why it is no fault that a node has nothing to ask: a note of the verdict, in place of the skip.
    without_cells: Callable[[Node], str] = no_note
    #: Whether it says how many of the node's GPUs are missing, whatever it asks of the others.
    counts_gpus: bool = False
    #: The quantities that a subject is asked for; none: any answers.
    quantities: Callable[[Any], Sequence[str]] = of_cell
    #: The figures of a document, by the path classes of the expected node.
    figures: Callable[[Document, Node], Sequence[AnyMetric]] = metrics
    #: What a document tells beside the figures.
    findings: Callable[[Document | None], list[Finding]] = no_findings
    #: The check whose references judge a figure, where it has none of its own.
    judged_as: Callable[[AnyMetric], str] | None = None
    #: What the program prints on a node with a partition's features when all is answered, never measured; None: a rate of each
    #: of ``quantities`` for each of ``cells``.
    synthetic: Callable[[Node, Collection[str]], Document] | None = None
    #: Its rates explain capacities and faults. Of a cell that several checks measured the highest rank counts. None: they do not.
    explains: int | None = None
    #: How a machine comes by what it asks for, where that can be installed.
    remedy: str = ""
    #: Its file.
    file: Path = Path()
    #: Why it cannot be asked: what is wrong with a file, and where.
    problem: str | None = None

    @property
    def readable(self) -> bool:
        """Whether its file could be read; else no more than its name is known."""
        return bool(self.title)

    def fits(self, system: str, partition: str, features: Iterable[str]) -> bool:
        """Whether ReFrame would run it on a partition, by ``systems`` (names and features; ReFrame's rules)."""
        return any(_fits(spec, system, partition, set(features)) for spec in self.systems)

    def lacks(self, system: str, partition: str, features: Collection[str], could: Collection[str]) -> tuple[str, ...]:
        """The features among ``could`` that keep it from being asked of a partition; none where it is asked, or lacks more."""
        every = {*features, *could}
        if self.fits(system, partition, features) or not self.fits(system, partition, every):
            return ()
        return tuple(each for each in could if not self.fits(system, partition, every - {each}))

    def references_of(self, metric: AnyMetric) -> str:
        """The check whose references judge a figure."""
        return self.name if self.judged_as is None else self.judged_as(metric)

    def known_figures(self, node: Node, features: Collection[str] = ()) -> Sequence[AnyMetric]:
        """Every figure that it can have on a node, without measuring."""
        from . import synthetic_documents

        if self.synthetic is not None:
            return self.figures(self.synthetic(node, features), node)
        return self.figures(synthetic_documents.of_cells(self.cells(node)[0], node, self.quantities), node)

    def figures_of(self, asked: Sequence[Any], node: Node, features: Collection[str]) -> Sequence[AnyMetric]:
        """Every figure that each of the cells can have by itself; where nothing asked is a cell, every figure on the node."""
        from . import synthetic_documents

        cells = [each for each in asked if isinstance(each, Cell)]
        if not cells:
            return [] if self.judged_as is not None else self.known_figures(node, features)
        return [m for cell in cells for m in metrics(synthetic_documents.of_cells([cell], node, self.quantities))]


def _fits(spec: str, system: str, partition: str, features: set[str]) -> bool:
    for word in spec.split():
        if word[0] == "+":
            fitting = word[1:] in features
        elif word[0] == "-":
            fitting = word[1:] not in features
        else:
            wanted_system, _, wanted_partition = word.partition(":")
            fitting = wanted_system in ("*", system) and wanted_partition in ("", "*", partition)
        if not fitting:
            return False
    return True
