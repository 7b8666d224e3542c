"""What a node's own nights say of the figures that it has now: the judge's ``past``.

Compared is like with like: the same node, boards, figure and program. A new board or program begins anew, and so does other software
where no alike figures of the node tell what it did (``verdict.common_factor``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from nearfar.base import Finding
from nearfar.verdict import Baseline, Night, Verdict, baseline, disturbances, thresholds
from nearfar.verdict.references import software_changes

from . import messages, node_rows, rows
from .lazy_polars import pl
from .node_rows import SAME_FIGURE, SOFTWARE
from .places import readable, word
from .schema import row_schema
from .store import History, trusted

_Row = Mapping[str, Any]


class NodeHistory:
    """The pasts of the nodes of a session, each node's read once."""

    def __init__(self, place: Path | None = None, now: datetime | None = None) -> None:
        self._place = place
        self._now = now or datetime.now(timezone.utc)
        self._read: dict[tuple[str, str], tuple[pl.DataFrame, pl.DataFrame]] = {}
        self._left_out: list[str] = []

    def of(self, verdict: Verdict, observed: Mapping[str, Any]) -> dict[str, Baseline]:
        """By metric name, for the figures of a first verdict; ``observed`` as for ``rows.figure_rows``. Raises ``NearfarError`` where
        there is a history that cannot be read."""
        kept = self._of_node(verdict)
        return {} if kept is None else _alike(kept[0], rows.figure_rows(verdict, observed))

    def _of_node(self, verdict: Verdict) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Of a verdict's node the rows that count, and all recent ones; None where its system has no history."""
        system, node = verdict.system, rows.short_name(verdict.node)
        if (system, node) not in self._read:
            place = readable(self._place)
            history = History(place, self._left_out.append, trusted(place))
            if word(system) not in history.systems():
                return None
            counted, recent = node_rows.of_node(history, system, node, self._now)
            # The runs of today are the same night as this one.
            self._read[system, node] = counted.filter(pl.col("started").dt.date() != self._now.date()), recent
        return self._read[system, node]

    def of_host(self, verdict: Verdict, host: str) -> list[Finding]:
        """A finding where unrelated paths of a node fell together now and on enough of its last days: it is of the host, never of a
        part. ``host``: ``own`` or ``shared``. Raises ``NearfarError`` where there is a history that cannot be read."""
        fell = any(metric.disturbance in disturbances.FELL for metric in verdict.metrics)
        if not fell or (kept := self._of_node(verdict)) is None:
            return []
        day = pl.col("started").dt.date()
        before = kept[1].filter(pl.col("check") == verdict.check, day < self._now.date())
        days = before.group_by(day.alias("day")).agg(pl.col("disturbance").is_in(disturbances.FELL).any()).sort("day")
        slow = [*days["disturbance"], True]
        if host == "own" and sum(slow[-thresholds.HOST_BROKEN :]) == thresholds.HOST_BROKEN:
            return [messages.HOST_STAYS_SLOW.finding(disturbances.HOST, days=thresholds.HOST_BROKEN)]
        last = slow[-thresholds.HOST_DAYS :]
        few = sum(last) < thresholds.HOST_SLOW
        return [] if few else [messages.HOST_SLOW.finding(disturbances.HOST, slow_days=sum(last), days=len(last))]

    def left_out(self) -> str | None:
        """What could not be read since the last time this was asked, in a line; None where all was."""
        problems, self._left_out[:] = list(self._left_out), []
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        return f"{problems[0]}{more}" if problems else None


def _alike(before: pl.DataFrame, now: Sequence[_Row]) -> dict[str, Baseline]:
    """The past of each figure of now, of the nights that compare with it."""
    names = (*SAME_FIGURE, "gpu_uuid", "gpu_serial")
    figures = pl.DataFrame({n: [row.get(n) for row in now] for n in names}, {n: row_schema()[n] for n in names})
    then, board = (pl.coalesce(f"gpu_uuid{which}", f"gpu_serial{which}") for which in ("", "_now"))
    known = (then == board) & ~board.str.contains("?", literal=True)  # that the boards are the same
    nights = (
        before.join(figures, on=list(SAME_FIGURE), suffix="_now", maintain_order="left", nulls_equal=True)
        .filter(pl.col("gpus").is_null() | known.fill_null(False))
        .with_columns(pl.col("mps").fill_null("off"), day=pl.col("started").dt.strftime("%Y-%m-%d"))
        .group_by("metric", "epoch", "day", *SOFTWARE, maintain_order=True)
        .agg(pl.col("value").median(), (pl.col("verdict") != "DEGRADED").all().alias("healthy"))
        .group_by("metric", maintain_order=True)
        .agg(pl.struct(SOFTWARE).alias("software"), pl.struct("day", "value", "healthy").alias("nights"))
    )
    own = {str(row["metric"]): row for row in now}
    pasts = ((metric, _past(own[metric], software, kept)) for metric, software, kept in nights.iter_rows())
    return {metric: past for metric, past in pasts if past is not None}


def _known(row: _Row) -> dict[str, str]:
    """The software of a row; a program that does not say whether MPS ran saw none."""
    return {name: row[name] for name in SOFTWARE if row[name] is not None} | {"mps": row["mps"] or "off"}


def _past(row: _Row, software: Sequence[_Row], nights: Sequence[_Row]) -> Baseline | None:
    """The past of a row's figure: of all nights, and ``anew`` of those with the software of now."""
    now, *versions = map(_known, (row, *software))
    kept = [Night(**night) for night in nights]
    past = baseline.of_nights(kept)
    others = [each for each in versions if each != now]
    if past is None or not others:
        return past
    own = baseline.of_nights([night for night, each in zip(kept, versions) if each == now])
    changed = software_changes.changed_words(others[-1], now)
    return replace(past, changed=changed, anew=own and replace(own, changed=changed))
