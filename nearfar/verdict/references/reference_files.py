"""A site's files of references: ReFrame's `$ref` form with a provenance, checked when they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from nearfar.base import SiteFile, did_you_mean, site_files
from nearfar.model import link_limits
from nearfar.model.prediction import NodeType, line_rate
from nearfar.question import questions
from nearfar.topology import Link, Node

from .reference import Reference
from .reference_row import ReferenceRow, place_key
from .software_changes import changes

#: The part of a file that says where its values come from; all others are checks.
PROVENANCE = "provenance"
#: ReFrame's key that makes the level below it one of GPU models.
INDEX = "$index"


class ReferenceFile:
    """One file of ``site/references/`` (or one that was read already): ReFrame's ``$ref`` form and a ``provenance``.

    ``tables`` are its rows by check, key of the GPU model (None where the check has no ``$index``) and name.
    """

    def __init__(self, file: Path | SiteFile, checks: Iterable[str]) -> None:
        self.file = SiteFile(file) if isinstance(file, Path) else file
        self.file.check("references-1")
        data, known = self.file.data, list(checks)
        names = [name for name in data if name != PROVENANCE]
        for name in names:
            if name not in known:
                raise self.file.error(
                    f"references for '{name}', a check that does not exist{did_you_mean(name, known)}", name
                )
        self.provenance: Mapping[str, Any] = data[PROVENANCE]
        self.origin = "tuned" if "tuned" in self.provenance else "published"
        self.tables = {name: self._tables(name, data[name]) for name in names}

    def published_of(self, system: str | None) -> bool:
        """Whether its figures were published of ``system``; of a file that names none they are another's."""
        return system is not None and self.provenance.get("published", {}).get("system") == system

    @property
    def tuned(self) -> Mapping[str, Any]:
        """What the provenance says of all tuned rows; empty for published values."""
        return {key: value for key, value in self.provenance.get("tuned", {}).items() if key != "rows"}

    @property
    def of_rows(self) -> Mapping[str, Mapping[str, Any]]:
        """What the provenance says of single rows, by ``check/model/row``."""
        return self.provenance.get("tuned", {}).get("rows") or {}

    def rows(self) -> Iterator[ReferenceRow]:
        """Every row, in the order of the file."""
        for tables in self.tables.values():
            for table in tables.values():
                yield from table.values()

    def _tables(self, check: str, content: Mapping[Any, Any]) -> dict[str | None, dict[str, ReferenceRow]]:
        if INDEX not in content:
            return {None: self._table(check, None, content)}
        tables: dict[str | None, dict[str, ReferenceRow]] = {}
        for model, rows in content.items():
            self._refuse_number(model, check)
            if model != INDEX:
                try:
                    re.compile(model)
                except re.error as error:
                    words = f"'{model}' is not a regular expression: {error}"
                    raise self.file.error(words, check, model) from None
                tables[model] = self._table(check, model, rows)
        return tables

    def _table(self, check: str, model: str | None, content: Mapping[Any, Any]) -> dict[str, ReferenceRow]:
        """The rows of one check and model. Refuses what a schema cannot tell: keys that are numbers, ``.nan`` and ``.inf``,
        another unit than the figure's, a DEGRADED bound outside of the FAIL bound."""
        table = {}
        for name, values in content.items():
            place = (check, model, name)
            steps = [step for step in place if step is not None]
            self._refuse_number(name, *steps[:-1])
            value, lower, upper, unit = values
            own = self.of_rows.get(place_key(place), {})
            line = self.file.line(*steps)
            row = ReferenceRow(check, model, name, value, lower, upper, unit, own, self.file.path, line)
            if not all(math.isfinite(each) for each in values[:3] if each is not None):
                raise self.file.error(f"{name}: value and bounds are finite numbers, found {values[:3]}", *steps)
            if row.expected_unit not in (None, unit):
                raise self.file.error(f"{name}: is in '{row.expected_unit}', found '{unit}'", *steps)
            for key in ("accepted", "accepted_bound"):
                if not math.isfinite(found := float(row.provenance.get(key, 1))):
                    at = PROVENANCE, "tuned", "rows", place_key(place), key
                    raise self.file.error(f"{name}: {key}: is a finite number, found {found}", *at)
            if row.misplaced is not None:
                raise self.file.error(
                    f"{name}: {row.misplaced}", PROVENANCE, "tuned", "rows", place_key(place), "degraded"
                )
            table[name] = row
        return table

    def _refuse_number(self, key: object, *above: str) -> None:
        if not isinstance(key, str):
            raise self.file.error(f"the key {key} is a number; put it in quotes", *above, str(key))

    def row(self, check: str, model: str | None, names: Sequence[str]) -> ReferenceRow | None:
        """The first of ``names`` that ``check`` has a row for, under the GPU model where the check has an index."""
        table = self.table(check, model)
        return next((table[name] for name in names if name in table), None)

    def table(self, check: str, model: str | None) -> Mapping[str, ReferenceRow]:
        """The rows of ``check`` for a GPU model, by name."""
        return self.tables.get(check, {}).get(self.model_key(check, model), {})

    def model_key(self, check: str, model: str | None) -> str | None:
        """Under which of the check's models the rows for a GPU model stand; None where the check has no index, or none fits."""
        # As ReFrame looks them up: the exact key, then keys as anchored expressions.
        keys = [key for key in self.tables.get(check, {}) if key is not None]
        if model in keys:
            return model
        return next((key for key in keys if model is not None and re.fullmatch(key, model)), None)

    def check_line_rates(self, links: Mapping[str, Link]) -> None:
        """Refuse a row above what its link can carry; ``links`` by GPU model. Nothing is said where no rate is known."""
        for check in self.tables:
            for model, link in links.items():
                rate = line_rate(link)
                for row in self.table(check, model).values():
                    most = (rate or 0.0) * row.host_directions
                    if most and row.unit == "GB/s" and row.value > most:
                        words = f"{row.value:g} GB/s is above the line rate of {link_limits.link_text(link)}, {most:.1f} GB/s"
                        raise self.file.error(f"{check}: {row.name}: {words}", *row.steps)

    def reference(self, row: ReferenceRow, software: Mapping[str, str]) -> Reference:
        """A row as a reference; stale when the ``software`` differs from what the values were tuned with."""
        tuned = {**self.tuned, **row.provenance}
        note = (
            f"tuned {tuned['date']}, n = {tuned['n']}"
            if self.origin == "tuned"
            else str(self.provenance["published"]["source"])
        )
        found = Reference(
            float(row.value), row.lower, row.upper, row.unit, self.origin, note,
            stale=bool(changes(row.stamp(self.tuned), software)), file=str(self.file.path),
        )  # fmt: skip
        if row.degraded is None:
            return found
        below, above = row.as_expected
        return (
            replace(found, degraded_above=above) if row.degraded_above else replace(found, degraded_below=below)
        ).worded()


def known_checks() -> tuple[str, ...]:
    """The names of the checks that have references of their own, broken files' included: their references are not to blame."""
    return tuple(question.name for question in questions() if question.judged_as is None)


@cache
def load(path: Path, checks: tuple[str, ...]) -> ReferenceFile:
    """A reference file, read once in a process."""
    return ReferenceFile(path, checks)


def find(name: str | None, node_type: str | None, directories: Sequence[Path]) -> list[ReferenceFile]:
    """The files that speak of a partition: its own first, then its node type's."""
    files = site_files("references", list(directories))
    names = [each for each in dict.fromkeys((name, node_type)) if each is not None and each in files]
    return sorted((load(files[each], known_checks()) for each in names), key=lambda file: file.origin != "tuned")


def for_partition(name: str | None, node_type: NodeType | None, directories: Sequence[Path]) -> list[ReferenceFile]:
    """The files that speak of a partition, none of them with a value above what its node type's links carry."""
    files = find(name, None if node_type is None else node_type.name, directories)
    for file in files:
        file.check_line_rates({} if node_type is None else fastest_links(node_type.node))
    return files


def fastest_links(node: Node) -> dict[str, Link]:
    """The fastest link of each GPU model: the same model may sit in wide and in narrow slots."""
    links: dict[str, Link] = {}
    for gpu in node.gpus:
        link = gpu.link.nominal
        if gpu.name and (gpu.name not in links or (line_rate(link) or 0) > (line_rate(links[gpu.name]) or 0)):
            links[gpu.name] = link
    return links
