"""The rows of one node that its history is compared by: those of the last months, and those of its baselines, which are kept apart.

``rows-1/system=NAME/baselines/NODE`` has the rows of the first nights of each figure with each software and each set of boards,
so that they are at hand when they are old. It is made of the history's rows, and made anew from them where it is missing. ``NODE.anew``
beside it has the number of the recording with which the past ended on a person's word.
"""

from __future__ import annotations

import io
import os
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from nearfar.base import NOT_JUDGED, write_atomically
from nearfar.verdict import references, thresholds

from .lazy_polars import pl
from .places import ELSEWHERE, VERSION, word
from .schema import row_schema, unsound
from .store import History, RowFilter, in_order, trusted

#: What is older is read no more, but for baselines.
SPAN = timedelta(days=92)
#: Baselines whose last night is older are dropped.
KEPT = timedelta(days=400)
#: Of a node's files that nobody compacted the newest are read: a day may have many runs.
FILES = 60
#: Software that ends a figure's past where nothing tells what it did: nearfar's own program (``version``) too.
SOFTWARE = (*references.SOFTWARE, "version")
#: What figures have in common that are compared, whatever the software.
SAME_FIGURE = ("check", "metric", "unit", "program", "quick", "contended", "gpus")
_KEYS = ("source", "sequence", "recorded", "started", "node")
COLUMNS = (*_KEYS, *SAME_FIGURE, *SOFTWARE, "rows", "gpu_model", "gpu_uuid", "gpu_serial", "value", "verdict", "worse", "converged",
           "verified", "throttled", "disturbance")  # fmt: skip


def of_node(history: History, system: str, node: str, now: datetime) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that count, in order: what was measured as it should be, and passed, had no reference, or was worse than its history; and
    all rows of the last months. Raises ``CouldNotJudge`` where there is a history that cannot be read."""
    kept = _kept(history, system, node)
    since = now - SPAN
    if kept is None:
        whole = history.rows(RowFilter(system, (node,)), COLUMNS)
        kept, recent = _first_nights(_counted(whole)), whole.filter(pl.col("started") >= since)
    else:
        recent = history.rows(RowFilter(system, (node,), since=since, newest=FILES), COLUMNS)
    figures = _counted(recent)
    figures = pl.concat([kept, figures.select(COLUMNS)]).unique(["source", "metric"], maintain_order=True)
    # A night that is still to come was a wrong clock's.
    figures = figures.filter(
        pl.col("sequence") > _ended(history, system, node), pl.col("started") <= now + timedelta(days=1)
    )
    return in_order(figures), recent


def _first_nights(rows: pl.DataFrame) -> pl.DataFrame:
    """The healthy rows of the first nights of each figure with each software and each set of boards."""
    segment = (*SAME_FIGURE, *SOFTWARE, "gpu_uuid", "gpu_serial", "epoch")
    healthy = rows.filter(pl.col("verdict").is_in(["PASS", NOT_JUDGED])).with_columns(day=pl.col("started").dt.date())
    return healthy.filter(pl.col("day").rank("dense").over(segment) <= thresholds.BASELINE_NIGHTS).select(COLUMNS)


def keep(history: History, system: str, node: str, now: datetime) -> None:
    """Keep the rows of a node's baselines in their file. Raises ``CouldNotJudge`` where that is impossible."""
    rows = of_node(history, system, node, now)[0].filter(pl.col("started") >= now - KEPT)
    content = io.BytesIO()
    _first_nights(rows).write_parquet(content, compression="zstd")
    path = _path(history, system, node)
    with suppress(OSError):
        if path.read_bytes() == content.getvalue():
            return
    write_atomically(path, content.getvalue(), ELSEWHERE)


def begin_anew(history: History, system: str, node: str) -> None:
    """End the past of a node with its last recording: what it measures from now on is compared with nothing before. Raises
    ``CouldNotJudge`` where that cannot be written."""
    last = max(history.rows(RowFilter(system, (node,)), ())["sequence"].to_list(), default=0)
    write_atomically(_path(history, system, node).with_suffix(".anew"), f"{last}\n", ELSEWHERE)


def _ended(history: History, system: str, node: str) -> int:
    try:
        return int(_path(history, system, node).with_suffix(".anew").read_text())
    except (OSError, ValueError):
        return 0


def _path(history: History, system: str, node: str) -> Path:
    return history.directory / VERSION / f"system={word(system)}" / "baselines" / word(node)


def _kept(history: History, system: str, node: str) -> pl.DataFrame | None:
    """The rows of the file of baselines; None where there is none that can be read, or that is another user's."""
    path = _path(history, system, node)
    schema = {name: row_schema()[name] for name in COLUMNS}
    try:
        with path.open("rb") as stream:
            if os.fstat(stream.fileno()).st_uid not in trusted(history.directory):
                return None
            rows = pl.read_parquet(io.BytesIO(stream.read()))
        rows = rows.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    except (OSError, pl.exceptions.PolarsError):
        return None
    # Names of nodes that differ may have one name of a file.
    return rows.filter(pl.col("node") == node)


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(
        pl.col("verdict").is_in(["PASS", NOT_JUDGED])
        | ((pl.col("verdict") == "DEGRADED") & pl.col("worse").is_not_null()),
        unsound().is_null() & pl.col("converged").fill_null(True),
        pl.col(
            "disturbance"
        ).is_null(),  # paths that fell together are the host's, whose days ``NodeHistory.of_host`` counts
    )
