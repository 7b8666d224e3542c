"""What a fleet's new software did to the figures that its references speak of: a finding of the fleet, which blames no node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from nearfar.base import Finding, Message, site_directories
from nearfar.site import systems
from nearfar.verdict import thresholds
from nearfar.verdict.references import SOFTWARE, ReferenceFile, ReferenceRow, RowPlace, find, software_changes

from . import fleet_levels, messages
from .fleet_levels import FleetLevel
from .lazy_polars import pl
from .series import LESS_IS_BETTER
from .store import History, RowFilter

#: What a finding about the fleet speaks of.
FLEET = "fleet"
_WAYS = {"h2d": "H2D", "d2h": "D2H"}


@dataclass(frozen=True)
class FleetReport:
    """``levels`` are all that are known of a system; ``findings`` tell what references of other software they differ from: DEGRADED for
    the worse, else notes."""

    levels: tuple[FleetLevel, ...]
    findings: tuple[Finding, ...]


@dataclass
class _Change:
    """A change of software since references were tuned: the nodes that have the new one, and the level now beside each reference of which
    it is known."""

    old: str
    new: str
    nodes: set[str] = field(default_factory=set)
    moved: dict[RowPlace, tuple[ReferenceRow, FleetLevel]] = field(default_factory=dict)

    def finding(self, system: str, of: int) -> Finding:
        certain = [(row, level) for row, level in self.moved.values() if not level.low <= row.value <= level.high]
        certain.sort(key=lambda pair: -abs(pair[1].part(pair[0].value)))
        losses = (level.part(row.value) * (1 if row.unit in LESS_IS_BETTER else -1) for row, level in certain)
        worse = [pair for pair, loss in zip(certain, losses) if loss >= thresholds.LEAST_SHIFT]
        message: Message = messages.EFFECT_UNKNOWN
        if self.moved:
            message = messages.WORSE if worse else messages.MOVED if certain else messages.NO_EFFECT
        moved: dict[str, Any] = {"moved": [_words(*pair) for pair in worse or certain]} if certain else {}
        return message.finding(
            FLEET, system=system, new=self.new, old=self.old, nodes=len(self.nodes), of=of, **moved, needed=thresholds.FEWEST_NODES
        )  # fmt: skip


def _words(row: ReferenceRow, level: FleetLevel) -> str:
    """``near H2D −1.5 % on 43 nodes``."""
    name = " ".join(_WAYS.get(word, word) for part in row.name.split(".") for word in part.split("_"))
    return f"{name} {software_changes.signed_percent(level.part(row.value))} on {level.nodes} nodes"


def report(store: History, system: str, now: datetime | None = None) -> FleetReport:
    """Take the levels of a system from its history, keep them beside its rows, and say how they differ from references that were tuned
    with other software.

    Raises ``NearfarError`` for a broken file of the site, a history that cannot be read or written, and without polars.
    """
    now = now or _now()
    levels = fleet_levels.of_system(store, system, now)
    fleet_levels.write(store.directory, system, levels)
    found: list[Finding] = []
    for partition, nodes in running(store, system, now).items():
        own = [level for level in levels if level.partition == partition]
        found += findings(system, own, _tuned(system, partition), nodes)
    return FleetReport(levels, tuple(found))


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _tuned(system: str, partition: str) -> list[ReferenceFile]:
    directories = site_directories()
    known = systems.load_all(directories).get(system)
    part = None if known is None else known.partitions.get(partition)
    found = find(system, None, directories) if part is None else find(part.references, part.node_type, directories)
    return [file for file in found if file.origin == "tuned"]


def running(store: History, system: str, now: datetime) -> dict[str, dict[str, dict[str, str]]]:
    """By partition and node, the software that each had last; a node that has not run for months is no longer among the fleet."""
    question = RowFilter(system, since=now - fleet_levels.SPAN)
    seen = store.aggregated(question, ["partition", "node", *SOFTWARE], pl.col("started").max())
    nodes = (
        seen.sort("started")
        .group_by("partition", "node", maintain_order=True)
        .agg(pl.col(SOFTWARE).drop_nulls().last())
    )
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in nodes.sort("partition", "node").iter_rows(named=True):
        own = {key: row[key] for key in SOFTWARE if row[key] is not None}
        found.setdefault(row["partition"], {})[row["node"]] = own
    return found


def findings(
    system: str, levels: Sequence[FleetLevel], files: Sequence[ReferenceFile], nodes: Mapping[str, Mapping[str, str]]
) -> list[Finding]:
    """A finding for each change of software that makes references stale on some of the ``nodes`` (their software by name)."""
    rows = [(file, row, row.stamp(file.tuned)) for file in files for row in file.rows()]
    changes: dict[tuple[str, str], _Change] = {}
    for software in {tuple(sorted(versions.items())): versions for versions in nodes.values()}.values():
        those = {node for node, versions in nodes.items() if versions == software}
        for file, row, then in rows:
            apart = software_changes.changes(then, software)
            if not apart:
                continue
            old, new = (software_changes.words({key: pair[which] for key, pair in apart.items()}) for which in (0, 1))
            change = changes.setdefault((old, new), _Change(old, new))
            change.nodes |= those
            own = [level for level in levels if (level.check, level.row) == (row.check, row.name)]
            own = [level for level in own if file.model_key(level.check, level.gpu_model) == row.model]
            level = software_changes.level_now(row.value, row.unit, own, then, software)
            if level is not None:
                change.moved[row.place] = row, level
    return [change.finding(system, len(nodes)) for _, change in sorted(changes.items())]
