"""Reading the history: which files there are, and the rows of a question, each figure once and in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from nearfar.base import CouldNotJudge

from .lazy_polars import pl
from .places import COMPACTED, VERSION, word
from .schema import row_schema

#: A clock that goes back by less was not set, but is another machine's.
CLOCK_TOLERANCE = timedelta(minutes=5)
_MAGIC = b"PAR1"
#: Compaction takes files away while others read: so often is the list of files made again.
_ATTEMPTS = 5
#: What tells a row from others, and their order.
_KEYS = ("source", "sequence", "recorded", "started", "node", "check", "metric")


@dataclass(frozen=True)
class RowFilter:
    """Which rows are wanted; None: all. ``row`` is a row of references (``near.h2d``) that stands for several metrics.

    ``newest``: of the files of single runs no more than the newest so many (of one node; compacted ones are all read).
    """

    system: str | None = None
    nodes: tuple[str, ...] | None = None
    check: str | None = None
    metric: str | None = None
    row: str | None = None
    since: datetime | None = None
    newest: int | None = None

    @property
    def predicate(self) -> pl.Expr:
        """The rows that fit."""
        wanted = pl.lit(True)
        for name in ("check", "metric"):
            if (value := getattr(self, name)) is not None:
                wanted &= pl.col(name) == value
        if self.nodes is not None:
            wanted &= pl.col("node").is_in(list(self.nodes))
        if self.row is not None:
            wanted &= pl.col("rows").list.contains(self.row)
        if self.since is not None:
            wanted &= pl.col("started") >= self.since
        return wanted


class History:
    """A history's directory. ``say`` is told of each file that cannot be read; it is left out.

    ``owners``: files of other users are left out too (None: everybody's are read).
    """

    def __init__(self, directory: Path, say: Callable[[str], None], owners: frozenset[int] | None = None) -> None:
        self.directory = directory
        self._say = say
        self._owners = owners
        self._told: set[Path] = set()

    def systems(self) -> list[str]:
        """The systems that have rows."""
        return sorted(path.name.partition("=")[2] for path in (self.directory / VERSION).glob("system=*"))

    def files(self, question: RowFilter) -> list[Path]:
        """The whole files that may hold what is asked for."""
        base = self.directory / VERSION
        system = "*" if question.system is None else word(question.system)
        names = None if question.nodes is None else {word(node) for node in question.nodes}
        least = "" if question.since is None else f"month={question.since:%Y-%m}"
        paths = [path for path in base.glob(f"system={system}/month=*/*.parquet") if path.parent.name >= least]
        compacted = [path for path in paths if path.name.startswith(COMPACTED)]
        single = [path for path in paths if not path.name.startswith(COMPACTED)]
        # The names of one node's files have their times.
        own = sorted(path for path in single if names is None or path.name.partition(".")[0] in names)
        newest = own[-question.newest if question.newest else 0 :]
        return sorted(path for path in (*compacted, *newest) if self._is_whole(path))

    def _is_whole(self, path: Path) -> bool:
        """Whether a file is Parquet to its end; one that vanished meanwhile was compacted."""
        try:
            with path.open("rb") as stream:
                owner = os.fstat(stream.fileno()).st_uid
                first = stream.read(4)
                stream.seek(-4, 2)
                whole = first == stream.read(4) == _MAGIC
        except FileNotFoundError:
            return False
        except OSError:
            whole = False
        if not whole:
            self.leave_out(path, "not a whole Parquet file")
        elif self._owners is not None and owner not in self._owners:
            self.leave_out(
                path, f"belongs to user {owner}, who does not own the history; its owner or root may adopt it"
            )
            return False
        return whole

    def leave_out(self, path: Path, why: str) -> None:
        """Tell of a file that is left out, once."""
        if path not in self._told:
            self._told.add(path)
            self._say(f"left out: {path}: {why}")

    def rows(self, question: RowFilter, columns: Iterable[str] | None = None) -> pl.DataFrame:
        """The rows that are asked for, each figure of a run once, by node and in order.

        Order is that of the runs' own times, but what was recorded after a node's clock had been set back counts as
        later (``epoch`` counts those times). Raises ``CouldNotJudge`` where the files cannot be read.
        """
        wanted = list(dict.fromkeys([*_KEYS, *(row_schema() if columns is None else columns)]))
        rows = self._answered(question, lambda files: _read(files, question.predicate, wanted))
        rows = rows.sort("sequence", "recorded").unique(["source", "metric"], keep="first", maintain_order=True)
        return in_order(rows)

    def nodes(self, system: str) -> list[str]:
        """The nodes of a system that have rows."""
        return sorted(
            path.name for path in (self.directory / VERSION / f"system={word(system)}" / "sequence").glob("*")
        )

    def aggregated(
        self,
        question: RowFilter,
        by: Sequence[str],
        *figures: pl.Expr,
        where: pl.Expr | None = None,
        made: Mapping[str, pl.Expr] | None = None,
    ) -> pl.DataFrame:
        """Figures over the rows that are asked for (and fit ``where``), without having them all in memory; ``made`` are columns
        to group by beside those that there are. Rows that compaction is about to take away may count twice."""
        wanted = question.predicate if where is None else question.predicate & where

        def found(files: Sequence[Path]) -> pl.DataFrame:
            rows = scan(files) if files else pl.LazyFrame(schema=row_schema())
            rows = rows.filter(wanted).with_columns(**(made or {}))
            return rows.group_by(by).agg(*figures).sort(by).collect(engine="streaming")

        return self._answered(question, found)

    def _answered(self, question: RowFilter, answer: Callable[[Sequence[Path]], pl.DataFrame]) -> pl.DataFrame:
        """The answer from the files that there are, whatever compaction takes away meanwhile and whatever else lies there."""
        refused: set[Path] = set()
        for _ in range(_ATTEMPTS):
            files = [path for path in self.files(question) if path not in refused]
            try:
                return answer(files)
            except (OSError, pl.exceptions.PolarsError) as error:
                refused |= self.unreadable(files)
                last = error
        raise CouldNotJudge(f"{self.directory}: the history cannot be read: {str(last).splitlines()[0]}")

    def unreadable(self, files: Sequence[Path]) -> set[Path]:
        """The files that are there and are no history; each is told of."""
        broken = set()
        for path in files:
            try:
                _read([path], pl.lit(True), list(row_schema()), limit=1)
            except FileNotFoundError:
                continue
            except (OSError, pl.exceptions.PolarsError) as error:
                broken.add(path)
                self.leave_out(path, f"not a file of the history ({str(error).splitlines()[0]})")
        return broken


def trusted(directory: Path) -> frozenset[int]:
    """Whose rows may tune a reference: root's, one's own, and those of the history's owner."""
    try:
        return frozenset({0, os.geteuid(), directory.stat().st_uid})
    except OSError:
        return frozenset({0, os.geteuid()})


def _read(files: Sequence[Path], predicate: pl.Expr, columns: list[str], limit: int | None = None) -> pl.DataFrame:
    if not files:
        return pl.DataFrame(schema={name: row_schema()[name] for name in columns})
    rows = scan(files).filter(predicate).select(columns)
    return (rows if limit is None else rows.head(limit)).collect()


def scan(files: Sequence[Path]) -> pl.LazyFrame:
    """The rows of files, with the columns that this version knows."""
    return pl.scan_parquet(
        list(files), schema=row_schema(), missing_columns="insert", extra_columns="ignore", hive_partitioning=False, glob=False
    )  # fmt: skip


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows by node, in the order of ``epoch`` (added) and time; see ``History.rows``."""
    recordings = rows.select("node", "source", "sequence", "recorded").unique("source")
    back = (pl.col("recorded").diff() < -CLOCK_TOLERANCE).fill_null(False).cum_sum()
    epochs = recordings.sort("node", "sequence", "recorded", "source").with_columns(back.over("node").alias("epoch"))
    ordered = rows.join(epochs.select("source", "epoch"), on="source", how="left")
    return ordered.sort("node", "epoch", "started", "sequence", "check", "metric")
