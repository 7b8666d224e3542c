"""Compaction: the many small files of nights become few, sorted so that one node's rows lie together."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from nearfar.base import file_lock, write_atomically

from .lazy_polars import pl
from .places import COMPACTED, ELSEWHERE, VERSION
from .store import History, RowFilter, scan

#: So many rows are sorted and written at a time; about a gigabyte of memory.
CHUNK = 1_000_000
#: A compacted file with fewer is taken in by the next compaction.
SMALL = 500_000
#: Rows that a reader has to unpack for a node that has any of them.
ROW_GROUP = 32_768
_ORDER = ("node", "check", "metric", "started")


def compact(history: History) -> tuple[int, int]:
    """Merge the small files of every month; returns how many files there were of those, and how many were made.

    One at a time (a lock); nodes may record meanwhile. The merged file is in place before the small ones go: who reads
    in between sees rows twice, which ``History.rows`` counts once. Raises ``CouldNotJudge`` where that is impossible.
    """
    before = after = 0
    if not (history.directory / VERSION).is_dir():
        return before, after
    with file_lock(history.directory / "compaction.lock", limit=5.0):
        for month in sorted((history.directory / VERSION).glob("system=*/month=*")):
            files = history.files(RowFilter(system=month.parent.name.partition("=")[2]))
            members = [path for path in files if path.parent == month and _is_small(path)]
            try:
                made = _merge(month, members)
            except pl.exceptions.PolarsError:
                refused = history.unreadable(members)
                members = [path for path in members if path not in refused]
                made = _merge(month, members)
            before += len(members) if made else 0
            after += made
    return before, after


def _is_small(path: Path) -> bool:
    if not path.name.startswith(COMPACTED):
        return True
    return bool(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item() < SMALL)


def _merge(month: Path, members: Sequence[Path]) -> int:
    """Merge files of a month; returns how many were made, 0 where there is nothing to merge."""
    if len(members) < 2:
        return 0
    rows = scan(members)
    counts = rows.group_by("node").len().sort("node").collect()
    made: list[Path] = []
    for nodes in _chunks(counts.rows()):
        part = rows.filter(pl.col("node").is_in(nodes)).collect()
        made.append(write_sorted(month, part.sort("sequence").unique(["source", "metric"], keep="first")))
    for path in members:
        if path not in made:
            path.unlink(missing_ok=True)
    return len(made)


def _chunks(counts: Sequence[tuple[str, int]]) -> Iterator[list[str]]:
    nodes: list[str] = []
    room = CHUNK
    for node, count in counts:
        if nodes and count > room:
            yield nodes
            nodes, room = [], CHUNK
        nodes.append(node)
        room -= count
    if nodes:
        yield nodes


def write_sorted(month: Path, rows: pl.DataFrame) -> Path:
    """Write rows as a compacted file of a month."""
    ordered, content = rows.sort(_ORDER), io.BytesIO()
    digest = sha256("".join(ordered["source"].unique().sort()).encode()).hexdigest()[:16]
    path = month / f"{COMPACTED}{digest}.parquet"
    ordered.write_parquet(content, compression="zstd", row_group_size=ROW_GROUP, statistics=True)
    write_atomically(path, content.getvalue(), ELSEWHERE, mode=0o644)
    return path
