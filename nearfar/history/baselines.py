"""What a node's own last healthy runs say of the figures that it has now: the judge's ``past``.

Compared is like with like: the same node, boards, figure, program and software. A new board, driver or program begins
anew.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from nearfar.base import NOT_JUDGED, CouldNotJudge, Finding, day_text
from nearfar.verdict import Baseline, Verdict, disturbances, plausibility

from . import rows
from .lazy_polars import pl
from .places import VERSION, directory, word
from .schema import row_schema
from .store import History, RowFilter, trusted

#: What is older is forgotten, and of the rest the newest runs count.
SPAN = timedelta(days=92)
RUNS = 30
#: A host is told of that was slow on so many of its last days with runs, today among them.
HOST_SLOW, HOST_DAYS = 3, 5
#: Of a node's files that nobody compacted the newest are read: a day may have many runs.
_FILES = 60
_SAME_FIGURE = ("check", "metric", "unit")
#: How it was measured; what a figure ran beside in a quick look counts as well.
_SAME_WAY = ("program", "version", "quick", "contended")
#: Software that counts where this document knows it: STREAM does not ask the driver.
_SAME_SOFTWARE = ("driver", "cuda", "mps", "mpi")
#: What tells which values a figure cannot have, beside its metric and unit.
_KIND = ("quantity", "cell", "flow", "class", "ceiling")
_COLUMNS = (*_SAME_FIGURE, *_SAME_WAY, *_SAME_SOFTWARE, *_KIND, "gpus", "gpu_uuid", "gpu_serial", "value", "verdict", "converged",
            "verified", "throttled", "disturbance")  # fmt: skip


class OwnPast:
    """The pasts of the nodes of a session, each node's read once."""

    def __init__(self, place: Path | None = None, now: datetime | None = None) -> None:
        self._place = directory() if place is None else place
        self._now = now or datetime.now(timezone.utc)
        self._since = self._now - SPAN
        self._read: dict[tuple[str, str], pl.DataFrame] = {}
        self._left_out: list[str] = []

    def of(self, verdict: Verdict, observed: Mapping[str, Any]) -> dict[str, Baseline]:
        """By metric name, for the figures of a first verdict; ``observed`` as for ``rows.of_verdict``. Raises ``CouldNotJudge`` where
        there is a history that cannot be read."""
        system, node = verdict.system, rows.short_name(verdict.node)
        if not self._recorded(system):
            return {}
        if (system, node) not in self._read:
            self._read[system, node] = self._healthy(system, node)
        healthy, now = self._read[system, node], rows.of_verdict(verdict, observed)
        return _alike(healthy, now) if now and not healthy.is_empty() else {}

    def of_host(self, verdict: Verdict) -> list[Finding]:
        """A finding where unrelated paths of a node fell together now and on enough of its last days: it is of the host, never of a
        part. Raises ``CouldNotJudge`` where there is a history that cannot be read."""
        if all(metric.disturbance != disturbances.HOST for metric in verdict.metrics) or not self._recorded(
            verdict.system
        ):
            return []
        question = RowFilter(verdict.system, (rows.short_name(verdict.node),), since=self._since, newest=_FILES)
        found = History(self._place, self._left_out.append, trusted(self._place)).rows(question, ("disturbance",))
        slow = {self._now.date(): True}
        for started, disturbance in found.select("started", "disturbance").iter_rows():
            slow[started.date()] = slow.get(started.date(), False) or disturbance == disturbances.HOST
        last = sorted(slow)[-HOST_DAYS:]
        count = sum(slow[day] for day in last)
        if count < HOST_SLOW:
            return []
        words = f"the host was slow on {count} of the last {len(last)} days with runs: paths that share only its memory fell together"
        return [Finding(disturbances.HOST, "DEGRADED", f"{words}; ask who else uses it, and look at its memory")]

    def left_out(self) -> str | None:
        """What could not be read since the last time this was asked, in a line; None where all was."""
        told, self._left_out[:] = list(self._left_out), []
        more = f"; and {len(told) - 1} more" if len(told) > 1 else ""
        return f"{told[0]}{more}" if told else None

    def _recorded(self, system: str) -> bool:
        """Whether the history has anything of a system."""
        base = self._place / VERSION
        try:
            kept = [entry.name for entry in os.scandir(base)]
        except FileNotFoundError:
            return False
        except OSError as error:
            raise CouldNotJudge(f"{base}: the history cannot be read: {error.strerror}") from None
        return f"system={word(system)}" in kept

    def _healthy(self, system: str, node: str) -> pl.DataFrame:
        """What passed or had no reference, and was measured as it should be, in order."""
        history = History(self._place, self._left_out.append, trusted(self._place))
        question = RowFilter(system, (node,), since=self._since, newest=_FILES)
        found = history.rows(question, _COLUMNS)
        found = found.filter(
            pl.col("verdict").is_in(["PASS", NOT_JUDGED]),
            pl.col("converged").fill_null(True) & pl.col("verified").fill_null(True),
            ~pl.col("throttled").fill_null(False),
            pl.col("disturbance").is_null(),
            pl.col("value").is_finite(),
        )
        # A judge of an earlier version passed what cannot be.
        kinds = found.select("metric", "unit", "value", *_KIND).iter_rows(named=True)
        return found.filter(pl.Series([plausibility.row_fault(row) is None for row in kinds], dtype=pl.Boolean)).drop(
            _KIND
        )


def _alike(healthy: pl.DataFrame, now: Sequence[Mapping[str, Any]]) -> dict[str, Baseline]:
    """The values of each figure of now in the runs that compare with it."""
    names = (*_SAME_FIGURE, *_SAME_WAY, *_SAME_SOFTWARE, "gpus", "gpu_uuid", "gpu_serial")
    figures = pl.DataFrame({n: [row.get(n) for row in now] for n in names}, {n: row_schema()[n] for n in names})
    pairs = healthy.join(figures, on=_SAME_FIGURE, how="inner", suffix="_now", maintain_order="left")
    # A program that does not say whether MPS ran saw none.
    pairs = pairs.with_columns(pl.col("mps", "mps_now").fill_null("off"))
    way = pl.all_horizontal(pl.col(n).eq_missing(pl.col(f"{n}_now")) for n in _SAME_WAY)
    software = pl.all_horizontal(
        pl.col(f"{n}_now").is_null() | pl.col(n).eq(pl.col(f"{n}_now")) for n in _SAME_SOFTWARE
    )
    runs = pairs.filter(way & software.fill_null(False) & _same_boards())
    last = runs.group_by("metric", maintain_order=True).agg(pl.col("value", "started").tail(RUNS))
    return {
        str(metric): Baseline(tuple(values), day_text(min(started)))
        for metric, values, started in last.select("metric", "value", "started").rows()
    }


def _same_boards() -> pl.Expr:
    """Figures of GPUs compare where it is known that they are the same."""
    then, now = (pl.coalesce(f"gpu_uuid{which}", f"gpu_serial{which}") for which in ("", "_now"))
    return pl.col("gpus_now").is_null() | ((then == now) & ~now.str.contains("?", literal=True)).fill_null(False)
