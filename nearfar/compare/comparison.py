"""Two sides compared: pairs of figures, what changed beside them, and what only one side has. Pure but for reading the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, grouped, listed
from nearfar.verdict import JudgedMetric

from . import changes, settings, sides
from .changes import FigureChange
from .settings import ChangedSetting
from .sides import DISTURBED, NodeSide, Side

#: From so many nodes on a figure is tested over all of them too.
LEAST_NODES = 2
#: Names of nodes in one sentence.
_NAMED = 6
_NOT_RUN = "the check was not run there"


@dataclass(frozen=True)
class OnlyOne:
    """Figures that one side alone has; ``side`` is ``before`` or ``after``, ``why`` what the other side says of them."""

    side: str
    node: str
    check: str
    names: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class RunComparison:
    """``changes`` are all pairs, by check in the order of the runs; ``not_paired`` has figures of both sides that cannot be compared,
    with the reason; ``notes`` are sentences of what a reader should know."""

    before: Side
    after: Side
    nodes: tuple[tuple[str, str], ...]
    changes: tuple[FigureChange, ...]
    settings: tuple[ChangedSetting, ...]
    only_one: tuple[OnlyOne, ...]
    notes: tuple[str, ...]

    @property
    def tested(self) -> list[FigureChange]:
        """What took part in the shared budget."""
        return [change for change in self.changes if change.tested]

    @property
    def doubtful(self) -> list[FigureChange]:
        """What would have, were it not for its doubts."""
        return [change for change in self.changes if change.counted and change.doubts]

    @property
    def disturbed(self) -> tuple[str, ...]:
        """The sides (``before``, ``after``) that other load disturbed, which is why nothing can be compared; empty: that is not why."""
        if self.tested or not self.doubtful or any(DISTURBED not in change.doubts for change in self.doubtful):
            return ()
        sides = {"before": [c.before for c in self.doubtful], "after": [c.after for c in self.doubtful]}
        return tuple(label for label, values in sides.items() if any(DISTURBED in value.doubts for value in values))

    @property
    def significant(self) -> list[FigureChange]:
        """What is more than chance, the worst first; the better ones at the end, the greatest first."""
        shown = [change for change in self.changes if change.significant]
        return sorted(shown, key=lambda c: (not c.worse, -badness(c) if c.worse else badness(c)))

    def beyond(self, bound: float) -> list[FigureChange]:
        """What is significantly worse, by more than ``bound`` (0.05: 5 %)."""
        return [change for change in self.significant if change.worse and abs(change.change) > bound]


def badness(change: FigureChange) -> float:
    """How much worse it is, as a part; below 0 where it is better."""
    return change.change if change.less_is_better else -change.change


def compare(before: Sequence[Path], after: Sequence[Path]) -> RunComparison:
    """Compare two sets of run directories.

    Raises ``NearfarError`` for wrong use and for files that cannot be read, ``CouldNotJudge`` where no figure is common.
    """
    first, second = sides.read(before), sides.read(after)
    sides.refuse_common(first, second)
    pairs, notes = _node_pairs(first, second)
    notes += _about_runs(first, second)
    paired_changes: list[FigureChange] = []
    only: list[OnlyOne] = []
    different: list[ChangedSetting] = []
    unlike: list[str] = []
    for earlier, later in pairs:
        paired, alone, remarks = _figures(earlier, later)
        paired_changes += paired
        only += alone
        different += settings.changed(later.name, earlier, later)
        place = f"{later.name}: " if len(pairs) > 1 else ""
        unlike += [f"{place}{note}" for note in remarks]
        notes += [f"{place}{note}" for note in (*remarks, *settings.moved_boards(earlier, later))]
    if not paired_changes:
        neither = f"no figure is on both sides; before has {_has(first)}; after has {_has(second)}"
        raise CouldNotJudge(f"nothing could be compared: {unlike[0] if unlike else neither}")
    if any(earlier.of == "software" and earlier.what.startswith("nearfar") for earlier in different):
        notes.append("the programs that measured are of different versions: a part of what changed may be theirs")
    if len(pairs) >= LEAST_NODES:
        paired_changes = [*_across(paired_changes), *paired_changes]
    names = tuple((earlier.name, later.name) for earlier, later in pairs)
    decided = tuple(changes.decided(paired_changes))
    return RunComparison(first, second, names, decided, tuple(different), tuple(only), tuple(notes))


def _node_pairs(before: Side, after: Side) -> tuple[list[tuple[NodeSide, NodeSide]], list[str]]:
    """Nodes by their name; two that are called otherwise where each side has one."""
    pairs = [(node, later) for node in before.nodes if (later := after.node(node.name)) is not None]
    if not pairs and len(before.nodes) == len(after.nodes) == 1:
        earlier, later = before.nodes[0], after.nodes[0]
        return [(earlier, later)], [f"two nodes are compared: {earlier.name} before, {later.name} after"]
    if not pairs:
        names = "; ".join(", ".join(node.name for node in side.nodes) for side in (before, after))
        raise NearfarError(
            f"no node is on both sides ({names}): name one node's folder on each side to compare two nodes"
        )
    notes = []
    for label, own, others in (("before", before, after), ("after", after, before)):
        alone = [node.name for node in own.nodes if others.node(node.name) is None]
        if alone:
            notes.append(f"only {label}, and left out: {listed(alone, _NAMED)}")
    return pairs, notes


def _about_runs(before: Side, after: Side) -> list[str]:
    notes = []
    for label, side in (("before", before), ("after", after)):
        if side.modelled:
            notes.append(f"{label}: {listed(side.modelled, _NAMED)} is modelled, not measured, and left out")
    systems = [sorted({str(run.raw["system"]) for run in side.runs}) for side in (before, after)]
    if systems[0] != systems[1]:
        notes.append(f"different systems: {', '.join(systems[0])} before, {', '.join(systems[1])} after")
    return notes


def _figures(before: NodeSide, after: NodeSide) -> tuple[list[FigureChange], list[OnlyOne], list[str]]:
    first, second = sides.figures(before), sides.figures(after)
    paired, notes = [], []
    for key in first:
        if key not in second:
            continue
        units = [sorted({figure.metric.unit for figure in own[key]}) for own in (first, second)]
        if units[0] != units[1] or len(units[0]) > 1:
            was, now = (" and ".join(unit) for unit in units)
            notes.append(f"{key[0]} {key[1]} is not compared: {was} before, {now} after")
            continue
        paired.append(changes.of_figure((before.name, after.name), key[0], first[key], second[key]))
    only = [
        *_only("before", {key: first[key][-1].metric for key in first if key not in second}, after),
        *_only("after", {key: second[key][-1].metric for key in second if key not in first}, before),
    ]
    return paired, only, notes


def _only(side: str, metrics: Mapping[tuple[str, str], JudgedMetric], other: NodeSide) -> Iterator[OnlyOne]:
    """By check and by the reason that the other side gives."""
    groups: dict[tuple[str, str], list[str]] = {}
    there = {key: key[1].partition(".")[0] for key in sides.figures(other)}
    for (check, name), metric in metrics.items():
        path_class, _, rest = name.partition(".")
        classes = [word for (of, known), word in there.items() if of == check and known == f"{word}.{rest}"]
        why = f"there its path class is {classes[0]}, not {path_class}" if classes else _why(other, check, metric)
        groups.setdefault((check, why), []).append(name)
    for (check, why), names in groups.items():
        yield OnlyOne(side, other.name, check, tuple(names), why)


def _why(other: NodeSide, check: str, metric: JudgedMetric) -> str:
    records = [record for record in other.checks if sides.base_name(record) == check]
    verdicts = [record.verdict for record in records if record.verdict is not None]
    if not records:
        return _NOT_RUN
    if not verdicts:
        return "the check left no verdict there"
    entries = [entry for verdict in verdicts for entry in (*verdict.failed, *verdict.unmeasured)]
    reasons = [entry.reason for entry in entries if entry.cell in ("", metric.subject)]
    if not any(verdict.metrics for verdict in verdicts):
        reasons += [entry.reason for entry in entries] + [reason for verdict in verdicts for reason in verdict.reasons]
    machine = next((run.node for run in other.runs if run.node is not None), None)
    absent = [f"g{index}" for index in metric.gpus if machine is not None and machine.gpu(index) is None]
    if absent:
        reasons.append(f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not on that node")
    return next(iter(reasons), "not measured there")


def _across(figure_changes: Sequence[FigureChange]) -> list[FigureChange]:
    """Each figure over all nodes that have it without doubt."""
    tested = (change for change in figure_changes if change.tested)
    groups = grouped(((change.check, change.metric.name, change.metric.unit), change) for change in tested)
    return [changes.across_nodes(group) for group in groups.values() if len(group) >= LEAST_NODES]


def _has(side: Side) -> str:
    """The checks of a side that have figures; why it has none."""
    checks = sorted({sides.base_name(c) for node in side.nodes for c in node.checks if c.verdict and c.verdict.metrics})
    if checks:
        return f"figures of {', '.join(checks)}"
    verdicts = [verdict for node in side.nodes for verdict in node.verdicts]
    reasons = [entry.reason for verdict in verdicts for entry in (*verdict.failed, *verdict.unmeasured)]
    why = next(iter([*reasons, *(reason for verdict in verdicts for reason in verdict.reasons)]), None)
    return "no figure" + (f" ({why})" if why else "")
