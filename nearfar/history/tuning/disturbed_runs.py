"""Which runs the figures come from that were left out because measuring went wrong, and why, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nearfar.history import pl, series

#: So many runs are named, the latest first; of the rest their number.
_NAMED = 5


def expressions(reason: pl.Expr) -> tuple[pl.Expr, ...]:
    """For an aggregation: ``disturbed``, the latest runs with their nodes, and ``disturbances``, how many runs of nodes there are."""
    disturbed = pl.struct("run", "node", reason.alias("reason"), "disturbance")
    return (
        disturbed.unique().sort(descending=True).head(_NAMED).alias("disturbed"),
        pl.struct("run", "node").n_unique().alias("disturbances"),
    )


def words(groups: Iterable[Mapping[str, Any]]) -> str | None:
    """``20261121T193319 of gpu001: other processes used the CPUs; … and 3 more``, of rows that ``expressions`` made; None of none."""
    whys: dict[tuple[str, str], list[str]] = {}
    total = 0
    for group in groups:
        total += group["disturbances"]
        for entry in group["disturbed"]:
            own = whys.setdefault((entry["run"], entry["node"]), [])
            reason = str(entry["reason"])
            known = series.DISTURBED.get(entry["disturbance"] or "", reason)
            why = reason if reason == "with clocks held down" else known
            own += [] if why in own else [why]
    if not whys:
        return None
    latest = sorted(whys, reverse=True)[:_NAMED]
    more = f"; and {total - len(latest)} more" if total > len(latest) else ""
    return "; ".join(f"{run} of {node}: {', '.join(whys[run, node])}" for run, node in latest) + more
