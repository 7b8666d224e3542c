"""Every rule over every file."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import places
from nearfar.question import Question, questions

from . import (
    contradictions,
    gpu_models,
    line_rates,
    node_types,
    orders,
    partitions,
    provenance,
    rows,
    templates,
)
from .complaints import WARNING, Complaint, sorted_once
from .reading import SCHEMAS, SiteContents, unread
from .reference_uses import uses
from .rows import ReferenceTable


@dataclass(frozen=True)
class LintResult:
    """What lint found, sorted, and the files that it looked at."""

    complaints: tuple[Complaint, ...]
    files: tuple[Path, ...]

    def within(self, paths: Sequence[Path]) -> LintResult:
        """What concerns these files and directories."""

        def inside(file: Path) -> bool:
            return any(path == file or path in file.parents for path in paths)

        return LintResult(tuple(c for c in self.complaints if inside(c.file)), tuple(filter(inside, self.files)))


def lint(directories: Sequence[Path], today: datetime.date | None = None) -> LintResult:
    """All complaints of the site in these directories, the first of which counts. Raises nothing for what stands in files."""
    reading = SiteContents(directories)
    for kind in SCHEMAS:
        reading.add(kind)
    reading.add_typical()
    checks, today = known_checks(), today or datetime.date.today()
    complaints = [
        *reading.complaints, *of_systems(reading, checks.values()), *of_node_types(reading),
        *(complaint for read in reading.systems.values() for complaint in partitions.act_complaints(read, checks)),
        *of_references(reading, checks, today),
        *(complaint for read in reading.orders.values() for complaint in orders.complaints(reading, read)),
        *gpu_models.complaints(reading.gpus, today), *node_types.of_published(reading.published_nodes.values(), today),
        *(complaint for read in reading.published_collectives.values() for complaint in node_types.of_topology(read)),
        *templates.complaints(directories),
        *partitions.shadows(directories, SCHEMAS), *unread(directories, (*SCHEMAS, "published", "templates")),
    ]  # fmt: skip
    return LintResult(tuple(sorted_once(complaints)), (*reading.files, *templates.files(directories)))


def known_checks() -> dict[str, Question]:
    """The checks that references and features may speak of, by name: every question."""
    return {question.name: question for question in questions()}


def of_systems(reading: SiteContents, checks: Iterable[Question]) -> Iterator[Complaint]:
    """What is wrong with the system files."""
    features = partitions.features_of(list(checks))
    for read in reading.systems.values():
        yield from partitions.complaints(reading, read, features)
    yield from partitions.overlaps(reading.systems)


def of_node_types(reading: SiteContents) -> Iterator[Complaint]:
    """What is wrong with the node types; those of the site's own directories that nobody uses."""
    models, memories = reading.gpu_models, reading.gpu_memories
    used = {p.node_type for read in reading.systems.values() if read.value for p in read.value.partitions.values()}
    for name, read in reading.node_types.items():
        yield from node_types.complaints(read, models, memories)
        if name not in used and places.SITE not in read.file.path.parents:
            yield Complaint(read.file.path, 1, WARNING, "dead", "unused: no partition has this node type")


def of_references(reading: SiteContents, checks: Mapping[str, Question], today: datetime.date) -> Iterator[Complaint]:
    """What is wrong with the references."""
    for name, read in reading.references.items():
        if read.value is None:
            continue
        yield from provenance.complaints(read.value, today)
        used = uses(reading, name)
        if not used:
            yield Complaint(
                read.file.path, 1, WARNING, "dead", "unused: no partition names it, and no node type has this name"
            )
        tables = list(rows.tables(read.value, used, checks))
        yield from (table for table in tables if isinstance(table, Complaint))
        read_tables = [table for table in tables if isinstance(table, ReferenceTable)]
        alive = {row.line for table in read_tables for row in table.rows.values() if not rows.dead(table, row)}
        for table in read_tables:
            yield from of_table(table, alive, reading.gpu_memories)


def of_table(table: ReferenceTable, alive: Collection[int], memories: Mapping[str, float]) -> Iterator[Complaint]:
    """What is wrong with the rows of one check and one GPU model; a row that nothing uses has no further fault. ``alive``
    are the lines of rows that some check has."""
    of_rows = list(rows.complaints(table, alive))
    values = [c for c in line_rates.complaints(table, memories) if c.line not in {other.line for other in of_rows}]
    yield from (*of_rows, *values)
    silent = {complaint.line for complaint in (*of_rows, *values)}
    for complaint in (
        *contradictions.bounds_complaints(table),
        *contradictions.complaints(table),
        *rows.not_judged(table),
    ):
        # Beside a value that is wrong others seem to contradict it; of a row that has a fault that is enough.
        if complaint.line not in silent and not (values and complaint.rule == "contradiction"):
            silent.add(complaint.line)
            yield complaint
