"""What a node's own nights say of the figures that it has now: the judge's ``past``.

Compared is like with like: the same node, boards, figure, program and software. A new board or program begins anew; figures with other
software are carried over by the shift that the fleet has in common, where that is known.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, Finding
from nearfar.verdict import Baseline, Night, Verdict, baseline, disturbances, thresholds

from . import fleet_shift, messages, node_rows, rows
from .carry_over import CarryOver
from .fleet_shift import SOFTWARE, FleetShift
from .lazy_polars import pl
from .node_rows import SAME_FIGURE
from .places import VERSION, directory, word
from .schema import row_schema
from .store import History, RowFilter, trusted


class OwnPast:
    """The pasts of the nodes of a session, each node's read once."""

    def __init__(self, place: Path | None = None, now: datetime | None = None) -> None:
        self._place = directory() if place is None else place
        self._now = now or datetime.now(timezone.utc)
        self._since = self._now - node_rows.SPAN
        self._read: dict[tuple[str, str], dict[Any, pl.DataFrame]] = {}
        self._left_out: list[str] = []

    def of(self, verdict: Verdict, observed: Mapping[str, Any]) -> dict[str, Baseline]:
        """By metric name, for the figures of a first verdict; ``observed`` as for ``rows.of_verdict``. Raises ``CouldNotJudge`` where
        there is a history that cannot be read."""
        system, node = verdict.system, rows.short_name(verdict.node)
        if not self._recorded(system):
            return {}
        if (system, node) not in self._read:
            history = History(self._place, self._left_out.append, trusted(self._place))
            node_figures = node_rows.of_node(history, system, node, self._now)
            # The runs of today are the same night as this one.
            node_figures = node_figures.filter(pl.col("started").dt.date() != self._now.date())
            self._read[system, node] = node_figures.partition_by("check", as_dict=True)
        before, now = self._read[system, node].get((verdict.check,)), rows.of_verdict(verdict, observed)
        return {} if before is None or not now else _alike(before, now, fleet_shift.read(self._place, system))

    def of_host(self, verdict: Verdict) -> list[Finding]:
        """A finding where unrelated paths of a node fell together now and on enough of its last days: it is of the host, never of a
        part. Raises ``CouldNotJudge`` where there is a history that cannot be read."""
        if all(metric.disturbance != disturbances.HOST for metric in verdict.metrics) or not self._recorded(
            verdict.system
        ):
            return []
        question = RowFilter(
            verdict.system, (rows.short_name(verdict.node),), since=self._since, newest=node_rows.FILES
        )
        recent_rows = History(self._place, self._left_out.append, trusted(self._place)).rows(question, ("disturbance",))
        slow = {self._now.date(): True}
        for started, disturbance in recent_rows.select("started", "disturbance").iter_rows():
            slow[started.date()] = slow.get(started.date(), False) or disturbance == disturbances.HOST
        last = sorted(slow)[-thresholds.HOST_DAYS :]
        count = sum(slow[day] for day in last)
        if count < thresholds.HOST_SLOW:
            return []
        return [messages.HOST_SLOW.finding(disturbances.HOST, slow_days=count, days=len(last))]

    def left_out(self) -> str | None:
        """What could not be read since the last time this was asked, in a line; None where all was."""
        problems, self._left_out[:] = list(self._left_out), []
        more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
        return f"{problems[0]}{more}" if problems else None

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


def _alike(before: pl.DataFrame, now: Sequence[Mapping[str, Any]], shifts: Sequence[FleetShift]) -> dict[str, Baseline]:
    """The past of each figure of now, of the nights that compare with it."""
    names = (*SAME_FIGURE, "gpu_uuid", "gpu_serial")
    figures = pl.DataFrame({n: [row.get(n) for row in now] for n in names}, {n: row_schema()[n] for n in names})
    same = before.join(
        figures, on=list(SAME_FIGURE), how="inner", suffix="_now", maintain_order="left", nulls_equal=True
    )
    nights = (
        same.filter(_same_boards())
        .with_columns(pl.col("mps").fill_null("off"), day=pl.col("started").dt.strftime("%Y-%m-%d"))
        .group_by("metric", "epoch", "day", *SOFTWARE, maintain_order=True)
        .agg(pl.col("value").median(), (pl.col("verdict") != "DEGRADED").all().alias("healthy"))
        .group_by("metric", maintain_order=True)
        .agg(pl.struct(SOFTWARE).alias("software"), pl.struct("day", "value", "healthy").alias("nights"))
    )
    by_metric = {str(row["metric"]): row for row in now}
    by_row: dict[tuple[Any, ...], list[FleetShift]] = {}
    for shift in shifts:
        by_row.setdefault((shift.check, shift.row, shift.gpu_model), []).append(shift)
    baselines = {}
    for metric, software, kept in nights.iter_rows():
        row = by_metric[metric]
        stamp = {name: row[name] for name in SOFTWARE if row[name] is not None} | {"mps": row["mps"] or "off"}
        own = by_row.get((row["check"], row["rows"][-1] if row["rows"] else None, row["gpu_model"]), [])
        versions = [tuple(stack.values()) for stack in software]
        past = _past(CarryOver(stamp, own), versions, [Night(**night) for night in kept])
        if past is not None:
            baselines[str(metric)] = past
    return baselines


def _past(carry: CarryOver, software: Sequence[tuple[str | None, ...]], nights: Sequence[Night]) -> Baseline | None:
    """The past of the nights that the software of now, or a shift, lets compare."""
    known = {versions: carry.stamp(dict(zip(SOFTWARE, versions))) for versions in set(software)}
    stamps = [known[versions] for versions in software]
    carried = [carry.of(stamp) for stamp in stamps]
    kept = [night._replace(value=night.value * by.factor) for night, by in zip(nights, carried) if by is not None]
    doubt = max((by.doubt for by in carried if by is not None), default=0.0)
    past = baseline.of_nights(kept, doubt)
    if past is None:
        return None
    others = dict.fromkeys(stamp for stamp in reversed(stamps) if stamp != carry.now)
    notable = [
        stamp for stamp in others if carry.of(stamp) is not None or len(past.values) < thresholds.BASELINE_NIGHTS
    ]
    return replace(past, note=carry.words(notable[0])) if notable else past


def _same_boards() -> pl.Expr:
    """Figures of GPUs compare where it is known that they are the same."""
    then, now = (pl.coalesce(f"gpu_uuid{which}", f"gpu_serial{which}") for which in ("", "_now"))
    return pl.col("gpus").is_null() | ((then == now) & ~now.str.contains("?", literal=True)).fill_null(False)
