"""The two sides of a comparison: runs as read, their nodes, and each figure's values over the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, short_host_name
from nearfar.measurement import MADE_OF_OTHERS, RATIO_UNIT
from nearfar.verdict import CheckRecord, JudgedMetric, NodeRun, RunDirectory, Verdict, run_directory

#: The doubt about a figure that was measured beside other load.
DISTURBED = "disturbed"


@dataclass(frozen=True)
class RunFigure:
    """A figure as one run has it."""

    metric: JudgedMetric
    quick: bool

    @property
    def doubts(self) -> tuple[str, ...]:
        """What makes it no evidence of the machine's own speed; empty where there is nothing."""
        metric = self.metric
        known = (
            ("--quick", self.quick or bool(metric.beside)), ("beside traffic", metric.contended and not metric.beside),
            ("throttled", metric.throttled), (DISTURBED, metric.disturbance is not None),
            ("not verified", metric.verified is False),
        )  # fmt: skip
        return tuple(doubt for doubt, holds in known if holds)


@dataclass(frozen=True)
class NodeSide:
    """One node over a side's runs."""

    name: str
    runs: tuple[NodeRun, ...]

    @property
    def checks(self) -> Iterator[CheckRecord]:
        """Every check of every run."""
        return (check for run in self.runs for check in run.checks)

    @property
    def verdicts(self) -> Iterator[Verdict]:
        """Every verdict of every run."""
        return (check.verdict for check in self.checks if check.verdict is not None)


@dataclass(frozen=True)
class Side:
    """The runs of one side; ``modelled`` are nodes of theirs that were not measured, and are left out."""

    runs: tuple[RunDirectory, ...]
    nodes: tuple[NodeSide, ...]
    modelled: tuple[str, ...]

    def node(self, name: str) -> NodeSide | None:
        """The node of that name."""
        return next((node for node in self.nodes if node.name == name), None)


def read(folders: Sequence[Path]) -> Side:
    """The side that some run directories, or nodes' folders within them, make.

    Raises ``NearfarError`` for what is no run, is there twice, or left no verdict; ``CouldNotJudge`` where nothing was measured.
    """
    if not folders:
        raise NearfarError("no run is named")
    runs = [_run(folder) for folder in folders]
    _refuse_twice(runs)
    measured: dict[str, list[NodeRun]] = {}
    modelled: dict[str, None] = {}
    for run in runs:
        for node in run.nodes:
            if node.modelled:
                modelled[node.name] = None
            else:
                measured.setdefault(short_host_name(node.name).lower(), []).append(node)
    if not measured:
        raise CouldNotJudge(f"{folders[0]}: every node of it is modelled: nothing was measured that could be compared")
    return Side(tuple(runs), tuple(NodeSide(name, tuple(own)) for name, own in measured.items()), tuple(modelled))


def refuse_common(before: Side, after: Side) -> None:
    """Raise ``NearfarError`` where a run is on both sides."""
    _refuse_twice([*before.runs, *after.runs])


def figures(node: NodeSide) -> dict[tuple[str, str], list[RunFigure]]:
    """The figures of a node by check and name, over its runs; what is no positive number is left out."""
    by_name: dict[tuple[str, str], list[RunFigure]] = {}
    for run in node.runs:
        for check in run.checks:
            verdict = check.verdict
            if verdict is None or verdict.kind != "measured":
                continue
            quick = verdict.measurement is not None and verdict.measurement.quick
            for metric in verdict.metrics:
                if metric.value is not None and math.isfinite(metric.value) and metric.value > 0:
                    by_name.setdefault((base_name(check), metric.name), []).append(RunFigure(metric, quick))
    return by_name


def base_name(check: CheckRecord) -> str:
    """The check's name; a repetition counts as a further run of the same."""
    return check.name.partition("@")[0]


def counted(metric: JudgedMetric) -> bool:
    """Whether a change of it is tested: what is derived, and the share of one of several flows, only explain."""
    share = metric.flow is not None and metric.cell is not None and not metric.cell.lone
    return metric.quantity not in MADE_OF_OTHERS and metric.unit != RATIO_UNIT and not share


def _run(folder: Path) -> RunDirectory:
    """A run; of a node's folder the run that it is in, with that node alone."""
    inside = not (folder / "run.json").exists() and (folder.parent / "run.json").exists()
    run = run_directory.read(folder.parent if inside else folder)
    if inside:
        own = tuple(node for node in run.nodes if node.folder.resolve() == folder.resolve())
        if not own:
            raise NearfarError(f"{folder}: lies in a run, and is no node's folder; name the run or a node's folder")
        run = RunDirectory(folder, run.raw, own, run.programs)
    if not any(check.verdict for node in run.nodes for check in node.checks):
        raise NearfarError(f"{folder}: no check left a verdict.json: nothing to compare; run it again")
    return run


def _refuse_twice(runs: Iterable[RunDirectory]) -> None:
    """By the nodes' folders, and by what was measured when: a copy is the same run too."""
    places: dict[object, Path] = {}
    for run in runs:
        for node in run.nodes:
            measured = ((check.name, check.verdict.measurement) for check in node.checks if check.verdict)
            times = frozenset((name, m.started, m.seconds) for name, m in measured if m is not None and m.started)
            identities: list[object] = [node.folder.resolve(), *([(node.name, times)] if times else [])]
            for identity in identities:
                if identity in places:
                    again = isinstance(identity, Path)
                    problem = "is named twice" if again else f"is the same run as {places[identity]}"
                    raise NearfarError(f"{run.folder}: {problem}; a run is compared with another")
                places[identity] = run.folder
