"""What publications contain that can be asked of a node: ``site/published/``, row by row."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile, did_you_mean, site_files
from nearfar.cells import Cell, CellError, parse
from nearfar.question import questions

from .published_figures import GREATEST, LEAST, LOSS, MEAN, OF_VALUES, PEAK, SHARE, SPREAD, PublishedFigure, figures

#: How much of a row a command asks.
STATES = ("done", "in part", "not run")
#: What may stand before a pattern of figures' names.
CHOOSING = (LEAST, GREATEST, LOSS, SHARE, SPREAD, MEAN, PEAK)


@dataclass(frozen=True)
class PaperRow:
    """One figure, table, claim or recommendation of a paper (``schema("published-1")``).

    ``figures`` are the published figures in ``unit``, with what measures each. ``command`` asks the row, ``lacks`` says what of it
    that leaves out; without a command ``not_asked`` says why. ``tolerance``, in percent, is what the source says of its own spread;
    ``remark`` what a reader of the source has to know, ``unmodelled`` why the model answers none, or not all, of its figures.
    """

    id: int
    paper: str
    place: str
    kind: str
    what: str
    papers: tuple[str, ...]
    figures: tuple[PublishedFigure, ...] = ()
    unit: str = ""
    tolerance: float | None = None
    tolerance_source: str = ""
    impossible: str = ""
    remark: str = ""
    node_type: str = ""
    check: str = ""
    command: str = ""
    lacks: str = ""
    not_asked: str = ""
    unmodelled: str = ""

    @property
    def values(self) -> tuple[float, ...]:
        """The published figures, in their order."""
        return tuple(figure.value for figure in self.figures if figure.value is not None)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell that the row speaks of, each once."""
        asked = [part for figure in self.figures for part in (figure.asked, figure.against)]
        return tuple(dict.fromkeys(cell for part in asked for cell in part.cells))

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that measure it: its counterpart, then those that its command names."""
        argv = self.command.split()
        named = argv[argv.index("--check") + 1 :] if argv[:2] == ["nearfar", "validate"] and "--check" in argv else []
        return tuple(dict.fromkeys([*([self.check] if self.check else []), *named]))

    @property
    def state(self) -> str:
        """``done``, ``in part`` or ``not run``."""
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
    paper_files = [SiteFile(path) for path in site_files("published", list(directories)).values()]
    for file in paper_files:
        file.check("published-1")
        if file.data["paper"] != file.path.stem:
            raise file.error(f"paper: '{file.data['paper']}' in a file called {file.path.name}: use one name", "paper")
        titles[file.path.stem] = file.data["title"]
    for file in paper_files:
        for row in _rows(file, titles):
            other = files.setdefault(row.id, file)
            if other is not file or row.id in [known_row.id for known_row in rows]:
                raise file.error(
                    f"row {row.id} stands in {other.path.name} already: give each row a number of its own", "rows"
                )
            fault = _unknown_check(row)
            if fault:
                raise file.error(f"row {row.id}: {fault}", "rows")
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
        plain = {key: value for key, value in entry.items() if key not in ("also", "values", *OF_VALUES)}
        yield PaperRow(
            paper=file.path.stem,
            papers=(file.path.stem, *entry.get("also", ())),
            figures=figures(entry),
            **plain,
        )


def _unknown_check(row: PaperRow) -> str:
    """Which check of a row there is not; empty where all are known."""
    known = [question.name for question in questions()]
    return next(
        (f"no check is called '{check}'{did_you_mean(check, known)}" for check in row.checks if check not in known), ""
    )


def _fault(entry: Mapping[str, Any], titles: Mapping[str, str]) -> str | None:
    """What is wrong with a row; None where it is sound."""
    if "command" not in entry and "not_asked" not in entry:
        return "neither a command that measures it nor a reason: add command: …, or not_asked: why"
    if "command" in entry and "not_asked" in entry:
        return "both a command and not_asked: keep one (lacks: … lists what a command leaves out)"
    if "lacks" in entry and "command" not in entry:
        return "lacks: … speaks of a command, and there is none"
    numbers = [*(entry.get("values") or ()), entry.get("tolerance")]
    if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
        return "values and tolerance are finite numbers"
    try:
        shlex.split(entry.get("command", ""))
    except ValueError as error:
        return f"command: a shell cannot read it: {error}"
    unknown = [name for name in entry.get("also", ()) if name not in titles]
    if unknown:
        return f"also: '{unknown[0]}' is not a paper{did_you_mean(unknown[0], list(titles))}"
    return _fault_of_figures(entry)


def _fault_of_figures(entry: Mapping[str, Any]) -> str | None:
    """What is wrong with what measures a row's figures."""
    pairs = zip(entry.get("cells", ()), entry.get("metrics", ()))
    if any(cell is not None and metric is not None for cell, metric in pairs):
        return "both cells and metrics of one value: keep the one that measures it"
    if "against" in entry and "cells" not in entry and "metrics" not in entry:
        return "against: … speaks of cells or metrics, and there are none"
    count = len(entry.get("values") or entry.get("cells") or entry.get("metrics") or ())
    for key in OF_VALUES:
        if key in entry and len(entry[key]) != count:
            many = next(name for name in ("values", "cells", "metrics") if name in entry)
            return f"{key}: {len(entry[key])} entries for {count} {many}; give one each (null: nothing measures it)"
    if "against" in entry and "cells" in entry and entry.get("unit") != "percent":
        return f"against: … makes percent of the figures, and their unit is '{entry.get('unit', '')}'"
    for text in entry.get("metrics", ()):
        which = str(text).rpartition(" ")[0]
        if text is not None and which not in ("", *CHOOSING):
            return f"metrics: '{text}': a pattern of names, after nothing or one of {', '.join(CHOOSING)}"
    measured = entry.get("cells", ())
    cells = [*measured, *(against for cell, against in zip(measured, entry.get("against", ())) if cell is not None)]
    for text in (text for cell in cells if cell is not None for text in ([cell] if isinstance(cell, str) else cell)):
        try:
            parse(text)
        except CellError as error:
            return str(error)
    return None
