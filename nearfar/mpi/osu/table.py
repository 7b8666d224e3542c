"""What an OSU benchmark prints, as a table: both dialects, 5.x and 7.x, with and without validation and percentiles.

The headings differ (``Latency (us)``, ``Avg Latency(us)``), columns come and go, and libraries write between the lines;
the rows are what counts. Half a table is an error that names the missing size.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearfar.base import CouldNotJudge, listed

from .benchmarks import LARGEST, Benchmark

#: Column headings of all dialects. They have blanks inside and may stand one blank apart, so each is told by its words.
_COLUMN = re.compile(
    r"(?:Avg |Min |Max )?Latency ?\(us\)|Bandwidth \(MB/s\)|MB/s|Messages/s|Iterations|Validation|Transmit Size"
    r"|P\d+ Tail (?:Lat\(us\)|BW\(MB/s\))"
)
#: What UCX logs, to the end of the line: another rank's may follow a line that is not ended yet.
_LOG = re.compile(r"\[\d{9,}\.\d+\] \[.*")
_TITLE = re.compile(r"^# OSU MPI(-\w+(?: MANAGED)?)? (.*?) v(\S+)\s*$")
_PAIRS = re.compile(r"^# \[ pairs: (\d+) \]")
_BUFFERS = re.compile(r"^# Send Buffer on .*\((\w+)\) and Receive Buffer on .*\((\w+)\)")
_ROW = re.compile(r"^\s*(\d+)(\s+\S.*)$")
_VALIDATION = "Validation"


class BadTable(CouldNotJudge):
    """An output that is no whole table."""


class InvalidData(CouldNotJudge):
    """OSU's own validation says that what arrived is wrong."""


@dataclass(frozen=True)
class OsuTable:
    """One table. ``rows`` are the numbers by message size in bytes and column heading, in OSU's units; ``failed`` the
    sizes whose validation failed. ``accelerator``: ``CUDA`` where the heading says so. ``buffers``: as the heading has
    them (``("D", "H")``), None where it says nothing (host buffers)."""

    title: str
    version: str
    accelerator: str | None
    buffers: tuple[str, str] | None
    pairs: int | None
    columns: tuple[str, ...]
    rows: Mapping[int, Mapping[str, float]]
    validated: bool
    failed: tuple[int, ...]


def parse(text: str) -> OsuTable:
    """The table in a benchmark's standard output. Raises ``BadTable`` for anything that is none."""
    title = heading = None
    pairs, buffers = None, None
    rows: dict[int, dict[str, float]] = {}
    failed: list[int] = []
    columns: tuple[str, ...] = ()
    for line in text.splitlines():
        line = _LOG.sub("", line)
        title = title or _TITLE.match(line)
        match = _PAIRS.match(line)
        pairs = int(match[1]) if match else pairs
        match = _BUFFERS.match(line)
        buffers = (match[1], match[2]) if match else buffers
        if line.startswith("# Size"):
            if heading is not None:
                raise BadTable("two tables in one output: every rank printed one, or an option asks for several")
            heading, columns = line, _columns(line)
        elif heading is not None and (row := _ROW.match(line)):
            size = int(row[1])
            if size in rows:
                raise BadTable(f"two rows of {size} B: every rank printed one")
            rows[size], passed = _values(size, row[2].split(), columns)
            failed += [] if passed else [size]
    last = text.rsplit("\n", 1)[-1]
    if heading is not None and _ROW.match(last):
        raise BadTable(f"half a table: it ends within the row of {last.split()[0]} B")
    if title is None or heading is None:
        raise BadTable(f"no OSU table: {_first_words(text)}")
    accelerator = title[1][1:] if title[1] else None
    return OsuTable(
        title[2], title[3], accelerator, buffers, pairs, columns, rows, _VALIDATION in columns, tuple(failed)
    )  # fmt: skip


def _columns(heading: str) -> tuple[str, ...]:
    titles = heading[len("# Size") :]
    unknown = _COLUMN.sub("", titles).strip()
    if unknown:
        raise BadTable(f"a column that no known OSU prints: '{unknown}'")
    return tuple(match[0] for match in _COLUMN.finditer(titles))


def _values(size: int, fields: Sequence[str], columns: tuple[str, ...]) -> tuple[dict[str, float], bool]:
    if len(fields) != len(columns):
        raise BadTable(f"half a table: the row of {size} B has {len(fields)} of {len(columns)} figures")
    values: dict[str, float] = {}
    passed = True
    for column, field in zip(columns, fields):
        if column == _VALIDATION:
            passed = field == "Pass"
            continue
        try:
            values[column] = float(field)
        except ValueError:
            raise BadTable(f"{size} B: '{field}' is not a figure ({column})") from None
        if not math.isfinite(values[column]) or values[column] < 0:
            raise BadTable(f"{size} B: {field} is not a figure ({column})")
    return values, passed


def _first_words(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"the output begins with '{line[:80]}'" if line else "the output is empty"


def sizes(least: int, most: int) -> list[int]:
    """The sizes that OSU goes through: doubling, with 1 after 0."""
    powers = [least]
    while (size := powers[-1] * 2 or 1) <= most:
        powers.append(size)
    return powers


def check(table: OsuTable, benchmark: Benchmark, least: int) -> None:
    """Raise ``BadTable`` unless this is all of ``benchmark``'s table from ``least`` to ``LARGEST`` bytes, ``InvalidData`` where
    OSU's validation failed."""
    if table.title != benchmark.title:
        raise BadTable(f"{benchmark.name} was asked for, and 'OSU MPI {table.title}' answered")
    if table.failed:
        raise InvalidData(
            f"OSU's validation failed at {listed(f'{size} B' for size in table.failed)}: what arrived is not what was sent"
        )
    missing = [size for size in sizes(least, LARGEST) if size not in table.rows]
    if missing:
        raise BadTable(f"half a table: {listed(f'{size} B' for size in missing)} missing")
    for quantity in benchmark.quantities:
        shown = values(table, benchmark, quantity)
        for size, value in shown.items():
            if value <= 0:
                raise BadTable(f"{size} B: {value:g} is not a figure ({quantity})")
        if LARGEST not in shown:
            raise BadTable(f"{LARGEST} B: 0 is not a figure ({quantity})")


def values(table: OsuTable, benchmark: Benchmark, quantity: str) -> dict[int, float]:
    """A quantity over message size in bytes, in the quantity's own unit. Rates have two decimals of a MB/s: the sizes at which
    0.00 was left of one (single bytes between GPUs) have no figure, and are left out."""
    headings, factor = next((heads, factor) for heads, name, _, factor in benchmark.columns if name == quantity)
    column = next((column for column in table.columns if column in headings), None)
    if column is None:
        raise BadTable(f"no column '{headings[-1]}': it has {', '.join(table.columns) or 'none'}")
    by_size = {size: row[column] * factor for size, row in sorted(table.rows.items())}
    return {size: value for size, value in by_size.items() if value > 0 or "MB/s" not in column}
