"""What publications contain that can be asked of a node: ``site/published/``, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile, did_you_mean, site_files
from nearfar.cells import Cell, CellError, parse

#: How much of a row a command asks.
STATES = ("runs", "in part", "not asked")


@dataclass(frozen=True)
class PaperRow:
    """One figure, table, claim or recommendation of a paper (``schema("published-1")``).

    ``values`` are the published figures in ``unit``, of as many ``cells`` in their order where there are as many. ``command`` asks it,
    ``lacks`` says what of it that leaves out; without a command ``not_asked`` says why.
    """

    id: int
    paper: str
    place: str
    kind: str
    what: str
    papers: tuple[str, ...]
    values: tuple[float, ...] = ()
    unit: str = ""
    impossible: str = ""
    node_type: str = ""
    check: str = ""
    cells: tuple[Cell, ...] = ()
    command: str = ""
    lacks: str = ""
    not_asked: str = ""

    @property
    def state(self) -> str:
        """``runs``, ``in part`` or ``not asked``."""
        return STATES[2] if not self.command else STATES[1] if self.lacks else STATES[0]


@dataclass(frozen=True)
class Paper:
    """A publication: its name, title and rows, those of other papers' files that it contains too among them."""

    name: str
    title: str
    rows: tuple[PaperRow, ...]


def papers(directories: Sequence[Path]) -> dict[str, Paper]:
    """Every paper of the site directories, by name. Raises ``NearfarError``, one line with file and row, for what is wrong."""
    titles: dict[str, str] = {}
    rows: list[PaperRow] = []
    files: dict[int, SiteFile] = {}
    found = [SiteFile(path) for path in site_files("published", list(directories)).values()]
    for file in found:
        file.check("published-1")
        if file.data["paper"] != file.path.stem:
            raise file.error(f"paper: '{file.data['paper']}' in a file called {file.path.name}: use one name", "paper")
        titles[file.path.stem] = file.data["title"]
    for file in found:
        for row in _rows(file, titles):
            other = files.setdefault(row.id, file)
            if other is not file or row.id in [each.id for each in rows]:
                raise file.error(
                    f"row {row.id} stands in {other.path.name} already: give each row a number of its own", "rows"
                )
            rows.append(row)
    rows.sort(key=lambda row: row.id)
    return {
        name: Paper(name, title, tuple(row for row in rows if name in row.papers))
        for name, title in sorted(titles.items())
    }


def load_paper(name: str, directories: Sequence[Path]) -> Paper:
    """The paper of that name."""
    known = papers(directories)
    if name not in known:
        raise NearfarError(
            f"no paper is called '{name}'{did_you_mean(name, list(known))}: papers are the files of site/published/"
        )
    return known[name]


def _rows(file: SiteFile, titles: Mapping[str, str]) -> Iterator[PaperRow]:
    for place, entry in enumerate(file.data["rows"]):
        fault = _fault(entry, titles)
        if fault is not None:
            raise file.error(f"row {entry['id']}: {fault}", "rows", place)
        plain = {key: value for key, value in entry.items() if key not in ("also", "values", "cells")}
        yield PaperRow(
            paper=file.path.stem,
            papers=(file.path.stem, *entry.get("also", ())),
            values=tuple(map(float, entry.get("values", ()))),
            cells=tuple(map(parse, entry.get("cells", ()))),
            **plain,
        )


def _fault(entry: Mapping[str, Any], titles: Mapping[str, str]) -> str | None:
    """What is wrong with a row; None where it is sound."""
    if "command" not in entry and "not_asked" not in entry:
        return "neither a command that asks it nor a reason: add command: …, or not_asked: why"
    if "command" in entry and "not_asked" in entry:
        return "both a command and not_asked: keep one (lacks: … says what a command leaves out)"
    if "lacks" in entry and "command" not in entry:
        return "lacks: … speaks of a command, and there is none"
    unknown = [name for name in entry.get("also", ()) if name not in titles]
    if unknown:
        return f"also: '{unknown[0]}' is no paper{did_you_mean(unknown[0], list(titles))}"
    for text in entry.get("cells", ()):
        try:
            parse(text)
        except CellError as error:
            return str(error)
    return None
