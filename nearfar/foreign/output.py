"""What a file of another tool holds, in a shape that all tools share."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nearfar.base import CouldNotJudge
from nearfar.topology import Node

#: Host memory as a tool's flows name it where the tool takes the GPU's own: ``h:g0``. The node that is made says which one it is.
NEAR = "h"
#: Host memory of which nobody says which it is.
SOME_HOST = "m"


@dataclass(frozen=True)
class SeenGpu:
    """A GPU as a tool lists it, by the tool's number."""

    index: int
    name: str | None = None
    pci: str | None = None
    #: Its own NUMA node.
    numa: int | None = None


@dataclass(frozen=True)
class ForeignFigure:
    """A figure that means what nearfar's figure of the same cell means.

    ``rates`` are its flows (``h:g0``, ``g0:g1@g1``) with a rate each, None where the tool gives the total alone.
    """

    rates: tuple[tuple[str, float | None], ...]
    #: The tool's own name of it.
    name: str
    #: Of all flows together; None: their sum.
    total: float | None = None
    bytes: int | None = None
    quantity: str = "copy"
    unit: str = "GB/s"


@dataclass(frozen=True)
class LeftOut:
    """What of a tool's output no figure is made of, and why; ``check``: the one that would have it (empty: none).

    ``kept``: the document has its figures, and nothing judges them. ``unread``: its figures were to be judged, and the output is damaged or
    reports an error in their place.
    """

    what: str
    why: str
    check: str = ""
    kept: bool = False
    unread: bool = False


@dataclass
class ForeignOutput:
    """One tool's output in one file. ``gpus`` are those it lists, ``every_gpu`` whether these are all that it could use."""

    tool: str
    version: str = ""
    command: tuple[str, ...] = ()
    hostname: str | None = None
    gpus: tuple[SeenGpu, ...] = ()
    every_gpu: bool = True
    figures: list[ForeignFigure] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    #: What the tool found wrong: ``wrong_data`` or ``error``, with the tool's words.
    failed: list[tuple[str, str]] = field(default_factory=list)
    software: dict[str, str] = field(default_factory=dict)
    #: How many NUMA nodes the tool lists; 0: it lists none.
    numa_nodes: int = 0
    #: Of a topology: the node.
    node: Node | None = None
    #: Of nccl-tests: how NCCL ran, as a document keeps it.
    nccl: dict[str, Any] | None = None

    @property
    def title(self) -> str:
        """``nvbandwidth 0.8``."""
        return f"{self.tool} {self.version}".strip()

    def add(self, name: str, *rates: tuple[str, float | None], **more: Any) -> None:
        """A figure of these flows; ``more``: as ``ForeignFigure`` has it."""
        self.figures.append(ForeignFigure(rates, name, **more))

    def leave_out(self, what: LeftOut) -> None:
        """What no figure is made of, once."""
        if what not in self.left_out:
            self.left_out.append(what)


class Truncated(CouldNotJudge):
    """A part of an output that ends in the middle, or has a figure that cannot be read."""


@dataclass(frozen=True)
class PrintedMatrix:
    """Numbers by row and column; None: the tool has none there (``N/A``)."""

    columns: tuple[str, ...]
    rows: dict[str, tuple[float | None, ...]]

    def cells(self) -> Iterator[tuple[int, int, float]]:
        """Row, column and value of every number that is none of the diagonal's zeros."""
        for row, values in self.rows.items():
            for column, value in zip(self.columns, values):
                if value:
                    yield int(row), int(column), value

    def zeros(self, diagonal: bool) -> str:
        """``row 0, column 5`` for each rate of zero; with ``diagonal`` zeros there are none."""
        return "; ".join(
            f"row {row}, column {column}"
            for row, values in self.rows.items()
            for column, value in zip(self.columns, values)
            if value == 0 and not (diagonal and row == column)
        )


def sections(text: str, heading: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
    """Each heading, and the text behind it up to the next."""
    found = list(heading.finditer(text))
    for match, end in zip(found, [*(each.start() for each in found[1:]), len(text)]):
        yield match, text[match.end() : end]


def number(word: str) -> float | None:
    """The rate that a word is; None for ``N/A``. Raises ``ValueError`` for anything else, such as ``nan`` or ``1,599.52``."""
    if word.upper() in ("N/A", "-"):
        return None
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{word[:40]!r} is not a rate")
    return value


def matrix(
    lines: Sequence[str], square: bool = True, heading: str = r"\s*(?:\S*[A-Za-z]\S*\s+)?\d+(?:\s+\d+)*\s*"
) -> PrintedMatrix:
    """The matrix that begins within ``lines``: a line of column numbers (behind a word such as ``D\\D``), then a row a line.

    Raises ``Truncated`` where there is none, a row is shorter than its heading, a figure is no rate or lacks decimals that the others
    have, or a ``square`` one has too few rows.
    """
    start = next((at for at, line in enumerate(lines) if re.fullmatch(heading, line)), None)
    if start is None:
        raise Truncated("it has no figures: the output ends there")
    columns = tuple(re.findall(r"(?<!\S)\d+(?!\S)", lines[start]))
    rows: dict[str, tuple[float | None, ...]] = {}
    decimals = set()
    for line in lines[start + 1 :]:
        words = line.split()
        if not words and not rows:
            continue
        if not words or not words[0].isdecimal():
            break
        try:
            values = tuple(number(word) for word in words[1:])
        except ValueError as error:
            if len(words) == len(columns) + 1:
                raise Truncated(f"row {words[0]}: {error}") from None
            break
        decimals |= {len(word.partition(".")[2]) for word, value in zip(words[1:], values) if value is not None}
        if len(values) != len(columns) or len(decimals) > 1:
            raise Truncated(f"its row {words[0]} is cut short")
        rows[words[0]] = values
    if not rows or (square and len(rows) < len(columns)):
        raise Truncated(f"it has {len(rows)} of {len(columns)} rows: the output is cut short")
    return PrintedMatrix(columns, rows)


def other_unit(heading: str) -> str:
    """Why the figures below a heading such as ``Matrix (MB/s)`` are left out; empty where they are in GB/s."""
    unit = re.search(r"\((\w+/s)\)", heading)
    return f"its figures are in {unit[1]}, not in GB/s" if unit and unit[1] != "GB/s" else ""


def command_line(lines: Iterable[str], program: str) -> tuple[str, ...]:
    """The command that a log shows before a program's output (``$ numactl -N0 ./nvbandwidth -t 0``, ``+ ./nvbandwidth``), as words."""
    for line in lines:
        shown = re.match(rf"\s*(?:\S*\s?[$#>%]|\++|Executing:|[Cc]ommand:)\s+(.*\b{re.escape(program)}\b.*)$", line)
        if shown:
            return tuple(shown[1].split())
    return ()
