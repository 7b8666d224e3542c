"""Whether what watches the nodes is alive: ``act``, health checks, sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nearfar.base import plural
from nearfar.site import HEALTH
from nearfar.slurm.act import View
from nearfar.slurm.controller import node_names
from nearfar.slurm.ledger import Ledger

#: Seconds after which ``act`` (every five minutes), and a node's health check, are missed.
_MISSED = 3600.0


@dataclass(frozen=True)
class Watchers:
    """When each of them was there last, in seconds since 1970 (None: never); ``problems``: what has stopped, and what to do."""

    acted: float | None
    sweep: float | None
    #: By node, the last health check.
    checked: dict[str, float]
    #: Nodes in use, and how many of them were measured within ``max_age``.
    in_use: int
    measured: int
    problems: tuple[str, ...]

    def line(self, now: float) -> str:
        """``act 2 minutes ago; newest result 5 hours ago; 985 of 1000 nodes in use measured within 36 h``."""
        parts = [f"act {_ago(self.acted, now)}", f"newest result {_ago(self.sweep, now)}"]
        if self.checked:
            parts.append(f"oldest health check {_ago(min(self.checked.values()), now)}")
        return "; ".join([*parts, f"{self.measured} of {plural(self.in_use, 'node')} in use measured lately"])


def watchers(view: View, ledger: Ledger) -> Watchers:
    """What the ledger has of it."""
    system, now, policy = view.options.policy.system, view.now, view.options.policy
    rows = ledger.rows(
        "SELECT node, max(known) AS known FROM check_run WHERE system = ? AND check_name = ? GROUP BY node",
        system,
        HEALTH,
    )
    in_use = {name for name, status in view.fleet.nodes.items() if status.slurm is not None and status.slurm.usable}
    checked = {row["node"]: float(row["known"]) for row in rows if row["node"] in in_use}
    results = view.facts.measured
    measured = {name for name in in_use if now - results.get(name, 0.0) <= policy.max_age}
    return Watchers(
        view.acted, max(results.values(), default=None), checked, len(in_use), len(measured),
        tuple(_problems(view, checked, in_use, measured)),
    )  # fmt: skip


def _problems(view: View, checked: dict[str, float], in_use: set[str], measured: set[str]) -> Iterator[str]:
    now = view.now
    if view.acted is not None and now - view.acted > _MISSED:
        yield f"act has not run for {_span(now - view.acted)}: systemctl status nearfar-act.timer; nearfar slurm doctor"
    silent = sorted(name for name, at in checked.items() if now - at > _MISSED)
    if silent:
        longest = _span(now - min(checked[name] for name in silent))
        yield f"no health check of {node_names.fold(silent)} for up to {longest}: is HealthCheckProgram set, and slurmd running?"
    if view.trouble is None and in_use and not measured:
        yield f"no node in use was measured within {_span(view.options.policy.max_age)}: systemctl status nearfar-nightly.timer"


def _ago(at: float | None, now: float) -> str:
    return "never" if at is None else f"{_span(now - at)} ago"


def _span(seconds: float) -> str:
    """``3 minutes``."""
    for size, unit, least in ((86400, "day", 2), (3600, "hour", 2), (60, "minute", 2)):
        if seconds >= size * least:
            return plural(round(seconds / size), unit)
    return plural(max(0, round(seconds)), "second")
