"""The rows of a file of references against the figures that the checks can have: misspelt rows and models, dead entries, units."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nearfar.base import NearfarError, SiteFile, did_you_mean
from nearfar.binding import MPIS
from nearfar.cells import parse_metric_name, split_class
from nearfar.measurement import AnyMetric
from nearfar.question import Question, judged_elsewhere
from nearfar.topology import Node
from nearfar.verdict.references import ReferenceFile, ReferenceRow, model_of

from .complaints import ERROR, INFO, WARNING, Complaint, at
from .known_metrics import Rows, misspelt, rows
from .reference_uses import FileUse


@dataclass(frozen=True)
class ReferenceTable:
    """The rows of one check, of one GPU model where the check has an index; with the nodes that it is used for.

    ``figures`` are those that each row may speak of, with their node; None where no node is known, and only the rows
    themselves can be looked at.
    """

    file: SiteFile
    check: str
    model: str | None
    rows: Mapping[str, ReferenceRow]
    figures: Mapping[str, Sequence[tuple[AnyMetric, Node]]] | None
    used_for: tuple[str, ...]
    #: Whether they were tuned.
    tuned: bool = False
    #: The keys that lead to the tables in the file.
    above: tuple[str, ...] = ()

    def complaint(self, level: str, rule: str, message: str, row: ReferenceRow) -> Complaint:
        """A complaint about one of its rows."""
        return at(self.file, level, rule, f"{self.check}: {row.name}: {message}", *self.above, *row.steps)


def tables(
    references: ReferenceFile, used: Sequence[FileUse], checks: Mapping[str, Question]
) -> Iterator[ReferenceTable | Complaint]:
    """Every table of a file that a node uses, and complaints of those that none does."""
    for check, models in references.tables.items():
        if check not in checks:
            continue
        asking = [use for use in used if _asks(checks[check], use)]
        if used and not asking:
            yield _never_asked(references, checks[check], used)
            continue
        for model, here in models.items():
            fitting = [
                use for use in asking
                if model is None or use.node is None or model in {references.model_key(check, gpu.name) for gpu in use.node.gpus}
            ]  # fmt: skip
            if asking and not fitting:
                yield _no_such_model(
                    references, check, str(model), [use.node for use in asking if use.node is not None]
                )
                continue
            names = tuple(use.name for use in fitting)
            figures = _figures(references, check, model, fitting)
            tuned = references.origin == "tuned"
            yield ReferenceTable(references.file, check, model, here, figures, names, tuned)


def _asks(check: Question, use: FileUse) -> bool:
    if use.system is None or use.partition is None:
        return True
    return check.fits(use.system.name, use.partition.name, use.partition.features)


def _never_asked(references: ReferenceFile, check: Question, used: Sequence[FileUse]) -> Complaint:
    wants = " or ".join(f"'{spec}'" for spec in check.systems)
    message = f"{check.name}: unused: it requires {wants}, which {_names([use.name for use in used])} does not have"
    return at(references.file, WARNING, "dead", message, check.name)


def _no_such_model(references: ReferenceFile, check: str, model: str, nodes: Sequence[Node]) -> Complaint:
    known = sorted({gpu.name for node in nodes for gpu in node.gpus if gpu.name})
    taken = [name for name in known if re.fullmatch(model, name)]
    if taken:
        before = references.model_key(check, taken[0])
        fault = f"unused: another model of the file comes first: {before}"
    else:
        fault = f"unused: no node that uses this file has such a GPU{did_you_mean(model, known)}"
    return at(references.file, WARNING, "dead", f"{check}: {model}: {fault}", check, model)


def _figures(
    references: ReferenceFile, check: str, model: str | None, used: Sequence[FileUse]
) -> dict[str, list[tuple[AnyMetric, Node]]] | None:
    figures: dict[str, list[tuple[AnyMetric, Node]]] = {}
    for use in used:
        possible: Rows | None = None if use.node is None else rows(check, use.node, use.features)
        if possible is None or use.node is None:
            return None
        for key, metrics in possible.items():
            if fitting := [
                (m, use.node) for m in metrics
                if model is None or references.model_key(check, model_of(m, use.node)) == model
            ]:  # fmt: skip
                figures.setdefault(key, []).extend(fitting)
    return figures if used else None


def without_mpi(row: str) -> str:
    """A row of MPI figures without the MPI that it is for (``openmpi_4_1_4.near.…``)."""
    first, _, rest = row.partition(".")
    return rest if first.partition("_")[0] in MPIS else row


def complaints(table: ReferenceTable, alive: Collection[int]) -> Iterator[Complaint]:
    """Rows that no figure has, and units that are not the figure's. ``alive`` are the lines of rows that some check has:
    what several checks share by an alias is dead where none of them has it."""
    for row in table.rows.values():
        spoken_of = (table.figures or {}).get(without_mpi(row.name))
        if spoken_of:
            if (unit := spoken_of[0][0].unit) != row.unit:
                yield table.complaint(ERROR, "unit", f"is in '{unit}', found '{row.unit}'", row)
        elif row.line in alive:
            continue
        elif (wrong := misspelt(table.check, without_mpi(row.name))) is not None:
            yield table.complaint(ERROR, "unknown-row", f"{wrong}; it would judge nothing", row)
        elif table.figures is not None:
            yield table.complaint(WARNING, "dead", _why_dead(table, row.name), row)


def not_judged(table: ReferenceTable) -> Iterator[Complaint]:
    """Tuned rows, of before, of what another figure judges."""
    for row in table.rows.values() if table.tuned else ():
        figures = (table.figures or {}).get(without_mpi(row.name)) or ()
        by = next((judged_elsewhere(table.check, metric) for metric, _ in figures), None)
        if by is not None:
            yield table.complaint(INFO, "not-judged", f"no longer judged, as {by}: may be removed", row)


def dead(table: ReferenceTable, row: ReferenceRow) -> bool:
    """Whether no figure of the nodes at hand has this row, as far as they are known."""
    return table.figures is not None and not table.figures.get(without_mpi(row.name))


def _why_dead(table: ReferenceTable, row: str) -> str:
    known = sorted(table.figures or {})
    if not known:
        return f"unused: {_names(table.used_for)} has no figure of {table.check}"
    reason = f"unused: {_names(table.used_for)} has no such figure"
    same = next((key for key in known if _same_cell(row, key)), None)
    hint = did_you_mean(row, known, else_all=False) if same is None else f" (did you mean '{same}'?)"
    if hint:
        return reason + hint
    classes = sorted({split_class(key.partition(".")[0])[0] for key in known})
    return f"{reason} (its rows begin with {', '.join(classes[:8])})"


def _same_cell(row: str, other: str) -> bool:
    """Whether two names are of the same flows, in another order or under another class."""
    try:
        metric, other_metric = parse_metric_name(row), parse_metric_name(other)
    except NearfarError:
        return False
    return (metric.cell, metric.flow, metric.total) == (other_metric.cell, other_metric.flow, other_metric.total)


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
