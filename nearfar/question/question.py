"""``Question``: what one check asks of a node, as data and functions of a node or a document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.base import Finding
from nearfar.cells import Cell, Skip
from nearfar.measurement import AnyMetric, Document, metrics
from nearfar.topology import Node

from . import messages

#: When a check is asked: by ``validate --quick``, by a nightly sweep, by ``validate`` and an acceptance.
QUICK, NIGHTLY, ACCEPT = "quick", "nightly", "accept"
LEVELS = (QUICK, NIGHTLY, ACCEPT)
#: What suites of other tests call these runs: the tags that select them there.
SUITES = {NIGHTLY: "production", ACCEPT: "maintenance"}
#: What a sweep measures between two nodes with: OSU's benchmarks, or the pack's own program if a node has no OSU.
OSU, OWN = "osu", "own"


#: The program that measures cells, and the ReFrame test in which it does so for all the checks of a session.
CELLS, SHARED_RUN = "nearfar-copy", "copies"
#: Options of a program that can be said of each cell instead.
_ASKED = {"--latency": "latency", "--tail": "tail", "--sizes": "sizes", "--rounds": "rounds"}


def one_gpu(node: Node) -> Finding | None:
    """A note of a node with one GPU, of which nothing is asked that takes several."""
    return messages.ONE_GPU.finding("cells") if len(node.gpus) == 1 else None


def no_figures(document: Document, node: Node) -> list[AnyMetric]:
    """Its findings are the answer."""
    return []


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
    return [
        messages.SMALLER_SIZE.finding(str(result.cell), line=result.smaller) for result in results if result.smaller
    ]


@dataclass(frozen=True)
class Question:
    """What one check asks."""

    #: Name of its file, of its class in ``checks/`` and of that class's file; the key of its references and of its history.
    name: str
    #: The heading on a page.
    title: str
    #: What it measures, in a list of checks.
    description: str
    #: The program that answers.
    program: str
    #: The cells (or other subjects, as texts) to ask of a node, and those that are left out with a reason.
    cells: Callable[..., tuple[Sequence[Any], Sequence[Skip]]]
    #: Which runs ask it; none: it is asked by name alone.
    levels: tuple[str, ...] = ()
    #: It takes long: of the runs of the level ``ACCEPT`` only an acceptance asks it, not a plain ``validate``.
    acceptance_only: bool = False
    #: Which partitions have what it asks for: ReFrame's ``valid_systems``, by features.
    systems: tuple[str, ...] = ("*",)
    #: Features of a partition that change what is asked, beside those of ``systems``.
    features: tuple[str, ...] = ()
    #: The program's options beside the cells and the GPUs.
    options: tuple[str, ...] = ()
    #: Why it is skipped on a node that has nothing of its kind; empty: every node has something.
    nothing_to_ask: str = ""
    #: Why it is no fault that a node has nothing to ask: a note of the verdict, in place of the skip.
    without_cells: Callable[[Node], Finding | None] = lambda node: None
    #: Whether it reports how many of the node's GPUs are missing, whatever it asks of the others.
    counts_gpus: bool = False
    #: The quantities that a subject is asked for; none: any answers.
    quantities: Callable[[Any], Sequence[str]] = of_cell
    #: The figures of a document, by the path classes of the expected node.
    figures: Callable[[Document, Node], Sequence[AnyMetric]] = metrics
    #: What a document shows beside the figures.
    findings: Callable[[Document | None], list[Finding]] = no_findings
    #: The check whose references judge a figure, if it has none of its own.
    judged_as: Callable[[AnyMetric], str] | None = None
    #: What the program prints on a node with a partition's features when all is answered, never measured; None: a rate of each
    #: of ``quantities`` for each of ``cells``.
    synthetic: Callable[[Node, Collection[str]], Document] | None = None
    #: The item of the finding that is its answer in one line; empty: its figures are, or all its findings if it has no figures.
    answer: str = ""
    #: An expression for those of its figures that its one line tells, by the words of their kinds; empty: its rates and times.
    key: str = ""
    #: Whether a page shows its cells as maps of endpoints.
    maps: bool = True
    #: Its rates explain capacities and faults. Of a cell that several checks measured the highest rank counts. None: they do not.
    explains: int | None = None
    #: How to install what it asks for, if that can be installed.
    remedy: str = ""
    #: Whether a kit asks it, if its program is in one (``nearfar-copy --set NAME`` lists its cells); and whether ``--quick`` of a kit does.
    in_kit: bool = True
    quick_kit: bool = False
    #: What it stands for in a sweep's measurements between two nodes: ``OSU``, ``OWN``; empty: it takes no part in them.
    between_nodes: str = ""
    #: Whether it examines what a node's health check examines, so that its result also answers what that check found.
    covers_health: bool = False

    @property
    def tags(self) -> tuple[str, ...]:
        """Its levels, and the tags of other suites: ``production``, after a ``maintenance``, for an ``acceptance``."""
        suites = [SUITES[level] for level in self.levels if level in SUITES and not self.acceptance_only]
        return (*self.levels, *suites, *(["acceptance"] if ACCEPT in self.levels else []))

    @property
    def asks(self) -> str | None:
        """What stands behind each of its cells in a file that asks for several questions at once (``latency``, ``sizes=1KiB..1GiB``);
        None where its program cannot answer them in one run."""
        if self.program != CELLS or (self.options and self.options[0] not in _ASKED):
            return None
        return "=".join([_ASKED[self.options[0]], *self.options[1:]]) if self.options else ""

    @property
    def aspect(self) -> str:
        """What of its cells is measured in that file: ``latency``, ``tail``, ``sizes``; empty: their rates."""
        word = (self.asks or "").partition("=")[0]
        return "" if word == "rounds" else word

    @property
    def has_figures(self) -> bool:
        """Whether it has figures; else its findings are the answer."""
        return self.figures is not no_figures

    def fits(self, system: str, partition: str, features: Iterable[str]) -> bool:
        """Whether ReFrame would run it on a partition, by ``systems`` (names and features; ReFrame's rules)."""
        return any(_fits(spec, system, partition, set(features)) for spec in self.systems)

    @property
    def of_gpus(self) -> bool:
        """Whether it is asked of no partition without GPUs."""
        return all("+gpu" in spec.split() for spec in self.systems)

    def lacks(self, system: str, partition: str, features: Collection[str], could: Collection[str]) -> tuple[str, ...]:
        """The features among ``could`` that keep it from being asked of a partition; none where it is asked, or lacks more."""
        every = {*features, *could}
        if self.fits(system, partition, features) or not self.fits(system, partition, every):
            return ()
        return tuple(feature for feature in could if not self.fits(system, partition, every - {feature}))

    def references_of(self, metric: AnyMetric) -> str:
        """The check whose references judge a figure."""
        return self.name if self.judged_as is None else self.judged_as(metric)

    def unanswerable(self, node: Node) -> str | None:
        """Why it cannot be answered on a node, whatever the node has; None where it can: it is of GPUs that no program measures."""
        if node.not_measured is None or self.of_gpus:
            return node.not_measured
        return node.not_measured if any(isinstance(cell, Cell) and cell.gpus for cell in self.cells(node)[0]) else None

    def known_figures(self, node: Node, features: Collection[str] = ()) -> Sequence[AnyMetric]:
        """Every figure that it can have on a node, without measuring."""
        from . import synthetic_documents

        if self.synthetic is not None:
            return self.figures(self.synthetic(node, features), node)
        return self.figures(synthetic_documents.of_cells(self.cells(node)[0], node, self.quantities), node)

    def figures_of(self, asked: Sequence[Any], node: Node, features: Collection[str]) -> Sequence[AnyMetric]:
        """Every figure that each of the cells can have by itself; where nothing asked is a cell, every figure on the node."""
        from . import synthetic_documents

        cells = [cell for cell in asked if isinstance(cell, Cell)]
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
