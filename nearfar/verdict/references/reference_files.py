"""A site's files of references: ReFrame's `$ref` form with a provenance, checked when they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from nearfar.base import SiteFile, nearest, site_files
from nearfar.cells import split_class
from nearfar.model import link_limits
from nearfar.model.prediction import NodeType, line_rate
from nearfar.question import questions
from nearfar.topology import Link, Node

from .reference import Reference


class ReferenceFile:
    """One file of ``site/references/`` (or one that was read already): ReFrame's ``$ref`` form and a ``provenance``."""

    def __init__(self, file: Path | SiteFile, checks: Iterable[str]) -> None:
        self.file = SiteFile(file) if isinstance(file, Path) else file
        self.file.check("references-1")
        known = list(checks)
        for name in self._checks:
            if name not in known:
                raise self.file.error(
                    f"references for '{name}', a check that does not exist{nearest(name, known)}", name
                )
        for name in self._checks:
            self._check_rows((name,), "$index" in self.file.data[name])
        self.provenance: Mapping[str, Any] = self.file.data["provenance"]
        self.origin = "tuned" if "tuned" in self.provenance else "published"

    @property
    def _checks(self) -> list[str]:
        return [name for name in self.file.data if name != "provenance"]

    def _check_rows(self, steps: tuple[str, ...], indexed: bool) -> None:
        """Refuse what a schema cannot tell: keys that are numbers, models that are no expressions, ``.nan`` and
        ``.inf``, another unit than the figure's."""
        for key, below in self._at(steps).items():
            if not isinstance(key, str):
                raise self.file.error(f"the key {key} is a number; put it in quotes", *steps, str(key))
            if indexed and key != "$index":
                self._check_model(steps, key)
                self._check_rows((*steps, key), False)
            elif not indexed:
                if not all(math.isfinite(each) for each in below[:3] if each is not None):
                    raise self.file.error(f"{key}: value and bounds are finite numbers, found {below[:3]}", *steps, key)
                unit = _unit(key) or below[3]
                if below[3] != unit:
                    raise self.file.error(f"{key}: is in '{unit}', found '{below[3]}'", *steps, key)

    def _check_model(self, steps: tuple[str, ...], key: str) -> None:
        try:
            re.compile(key)
        except re.error as error:
            raise self.file.error(f"'{key}' is no regular expression: {error}", *steps, key) from None

    def row(self, check: str, model: str | None, keys: Sequence[str]) -> list[Any] | None:
        """The first of ``keys`` that ``check`` has a row for, under the GPU model where the check is indexed."""
        place = self.place(check, model, keys)
        return None if place is None else list(self._at(place[:-1])[place[-1]])

    def place(self, check: str, model: str | None, keys: Sequence[str]) -> tuple[str, ...] | None:
        """Where that row stands: the check, the model's key where there is one, and the row's."""
        steps = self.table(check, model)
        rows = self._at(steps)
        return next(((*steps, key) for key in keys if key in rows and key != "$index"), None)

    def table(self, check: str, model: str | None) -> tuple[str, ...]:
        """The keys that lead to the rows of ``check`` for a GPU model."""
        rows = self.file.data.get(check, {})
        if "$index" not in rows:
            return (check,)
        # As ReFrame looks them up: the exact key, then keys as anchored expressions.
        for key in rows:
            if key == model:
                return (check, key)
        for key in rows:
            if key != "$index" and model is not None and re.fullmatch(key, model):
                return (check, key)
        return (check, model or "")

    def _at(self, steps: Sequence[str]) -> Mapping[str, Any]:
        found: Any = self.file.data
        for step in steps:
            found = found.get(step, {}) if isinstance(found, Mapping) else {}
        return found if isinstance(found, Mapping) else {}

    def check_line_rates(self, links: Mapping[str, Link]) -> None:
        """Refuse a row above what its link can carry; ``links`` by GPU model. Nothing is said where no rate is
        known."""
        for check in self._checks:
            for model, link in links.items():
                rate = line_rate(link)
                steps = self.table(check, model)
                for key, row in self._at(steps).items():
                    ways = _directions(key)
                    if rate is None or not ways or not isinstance(row, list) or row[3] != "GB/s":
                        continue
                    if row[0] > rate * ways:
                        words = f"{row[0]:g} GB/s is above the line rate of {link_limits.link_words(link)}, {rate * ways:.1f} GB/s"
                        raise self.file.error(f"{check}: {key}: {words}", *steps, key)

    def reference(
        self, row: Sequence[Any], stamp: Mapping[str, str], place: tuple[str, ...] | None = None
    ) -> Reference:
        """A row as a reference; stale when the software differs from what the values were tuned with. ``place`` is the row's:
        what the provenance says of it stands before what holds for the file."""
        value, lower, upper, unit = row
        whole = self.provenance.get("tuned", {})
        tuned = {**whole, **(whole.get("rows") or {}).get("/".join(place or ()), {})}
        then = {key: str(version) for key, version in (tuned.get("stamp") or {}).items()}
        changed = [
            f"{key} {version}, now {stamp[key]}" for key, version in then.items() if stamp.get(key, version) != version
        ]
        note = _tuned_note(tuned) if self.origin == "tuned" else str(self.provenance["published"]["source"])
        if changed:
            note += f"; stale: {', '.join(changed)}"
        return Reference(
            float(value), lower, upper, unit, self.origin, note, stale=bool(changed), file=str(self.file.path)
        )


def _tuned_note(tuned: Mapping[str, Any]) -> str:
    """``tuned 2026-11-20, n = 12, parametric, provisional``: what a reader of a verdict has to know of a limit."""
    weak = [tuned["method"]] if tuned.get("method") in ("parametric", "slack") else []
    weak += ["provisional"] if tuned.get("provisional") else []
    return ", ".join([f"tuned {tuned['date']}", f"n = {tuned['n']}", *weak])


#: The classes of paths to the host: theirs is the link that a figure is the rate of.
_HOST_CLASSES = ("near", "on_socket", "off_socket", "sole", "unknown")


def _unit(key: str) -> str | None:
    """The unit that a row's figure has; None where its name does not say."""
    path_class, *words = key.split(".")
    what = split_class(path_class)[1]
    if what.startswith("latency"):
        return "us"
    return "1" if what == "over_near" else "GB/s" if not what and _ways(words) else None


def _directions(key: str) -> int:
    """How many directions of a host link a row's figure is the sum of; 0 for ratios and other rows."""
    path_class, *words = key.split(".")
    return _ways(words) if path_class in _HOST_CLASSES else 0


def _ways(words: Sequence[str]) -> int:
    if words == ["both", "total"]:
        return 2
    return 1 if words in (["h2d"], ["d2h"], ["both", "h2d"], ["both", "d2h"]) else 0


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
        link = link_limits.nominal_link(gpu)
        if gpu.name and (gpu.name not in links or (line_rate(link) or 0) > (line_rate(links[gpu.name]) or 0)):
            links[gpu.name] = link
    return links
