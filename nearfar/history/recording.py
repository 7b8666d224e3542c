"""Keeping a run: the rows of every node's figures in a file of its own, beside the documents.

Nodes write at once on a shared file system, without locks: each writes a file that nobody else names, beside its
place, and renames it there.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, json_or_none, name_text, write_atomically

from . import node_rows, rows
from .lazy_polars import pl
from .places import ELSEWHERE, VERSION, directory, word
from .schema import row_schema
from .store import History, RowFilter, trusted

Say = Callable[[str], None]


def record(run_directory: Path, destination: Path | None = None, say: Say | None = None) -> Path:
    """Keep the figures of a run's nodes; returns the history's directory.

    The same run again changes nothing. A document that cannot be read, or is of another node, is told through ``say`` (default: a line on
    standard error) and left out; so is all that is modelled, without a word. Raises ``CouldNotJudge`` where the history cannot be written.
    """
    report = say or _say
    history = directory() if destination is None else destination
    for folder in sorted(entry for entry in run_directory.iterdir() if entry.is_dir()):
        figures = _of_node(folder, run_directory.name, report)
        if figures:
            _write(history, figures)
            system, node = figures[0]["system"], figures[0]["node"]
            try:
                store = History(history, lambda _: None, trusted(history))
                node_rows.keep(store, system, node, datetime.now(timezone.utc))
            except (CouldNotJudge, pl.exceptions.PolarsError) as error:
                # The rows are kept already: this is made good by the next recording.
                report(f"the baselines of {node} are not kept: {str(error).splitlines()[0]}")
    return history


def _say(message: str) -> None:
    print(f"nearfar: history: {message}", file=sys.stderr, flush=True)


def _of_node(folder: Path, run: str, say: Say) -> list[dict[str, Any]]:
    figures: list[dict[str, Any]] = []
    data = json_or_none(folder / "node.json")  # what it adds is of use, and not needed
    observed: Mapping[str, Any] = data if isinstance(data, dict) else {}
    for check in sorted(path.parent for path in folder.glob("*/verdict.json")):
        try:
            figures += rows.of_check(check, observed, run)
        except CouldNotJudge as error:
            say(f"left out: {error}")
        except (AttributeError, KeyError, TypeError, ValueError, OSError) as error:
            say(f"left out: {check}: not what a verdict or document holds ({type(error).__name__}: {error})")
    # A program without CUDA does not say which driver there was; it is the node's.
    return [_with_driver(row, figures) for row in figures]


def _with_driver(row: dict[str, Any], beside: list[dict[str, Any]]) -> dict[str, Any]:
    for key in ("driver", "cuda", "mps"):
        if row[key] is None:
            row[key] = next((other[key] for other in beside if other[key] is not None), None)
    return row


def _write(history: Path, figures: list[dict[str, Any]]) -> None:
    first = min(figures, key=lambda row: row["started"])
    digest = sha256("".join(sorted({row["source"] for row in figures})).encode()).hexdigest()[:12]
    system = history / VERSION / f"system={word(first['system'])}"
    name = f"{word(first['node'])}.{name_text(first['started'])}.{digest}.parquet"
    path = system / f"month={first['started']:%Y-%m}" / name
    if path.exists():
        return
    number = _next(history, first["system"], first["node"])
    stamp: dict[str, Any] = {"sequence": number, "recorded": datetime.now(timezone.utc)}
    columns = {key: [stamp.get(key, row.get(key)) for row in figures] for key in row_schema()}
    frame = pl.DataFrame(columns, schema=row_schema())
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd")
    write_atomically(path, content.getvalue(), ELSEWHERE)


def _next(history: Path, system: str, node: str) -> int:
    """One more than a node's last recording. Two at the same moment may get the same number: their times tell them apart."""
    counter = history / VERSION / f"system={word(system)}" / "sequence" / word(node)
    try:
        last = int(counter.read_text())
    except (OSError, ValueError):
        kept = History(history, lambda _: None).rows(RowFilter(system, (node,)), ())
        last = kept["sequence"].max() or 0  # type: ignore[assignment]
    write_atomically(counter, f"{last + 1}\n", ELSEWHERE)
    return last + 1
