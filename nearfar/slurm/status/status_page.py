"""The fleet in one screen, and as JSON: nodes of which the same is to be said stand in one line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.base import minute_text, plural, second_text, utc_text
from nearfar.slurm.controller import node_names

from .fleet_status import GOOD, GROUPS, NOT_MEASURED, FleetStatus, NodeStatus, UsedCap

#: Lines of nodes that a group has at most; what is more is folded further, and then counted.
_MOST = 12
_WIDTH = 110
#: Letters of a list of nodes that are shown; the whole list is in the JSON.
_LONGEST = 300
_PLACEHOLDER = "\0"


@dataclass(frozen=True)
class _Row:
    """Nodes of which the same is to be said; ``text`` and ``found`` hold a placeholder for their names."""

    nodes: tuple[NodeStatus, ...]
    found: str
    words: str

    @property
    def names(self) -> list[str]:
        return [node.node for node in self.nodes]

    @property
    def since(self) -> float | None:
        """When the first of them was taken out of use."""
        return min((node.since for node in self.nodes if node.since is not None), default=None)


def lines(fleet: FleetStatus) -> Iterator[str]:
    """The screen, line by line."""
    ran = "act has not run here" if fleet.acted is None else f"act ran {_span(fleet.now - fleet.acted)} ago"
    yield f"{fleet.system}: {plural(len(fleet.nodes), 'node')}, {second_text(fleet.now)}; {ran}"
    yield f"drains: {_used(fleet.in_all, 'in all')}; {_used(fleet.within_a_day, 'within a day')}"
    if fleet.stopped is not None:
        yield f"drains are stopped: {fleet.stopped}; a person allows them: nearfar slurm allow-drains --because WORDS"
    for blamed in fleet.blamed:
        yield f"held, a person decides: {blamed}"
    yield from fleet.problems
    for group, title in GROUPS.items():
        nodes = fleet.by_group[group]
        if nodes:
            lately = f" (within {_span(fleet.max_age)})" if group == NOT_MEASURED else ""
            yield ""
            yield f"{title}{lately}: {len(nodes)}"
            yield from _group(nodes, group == GOOD)


def _group(nodes: Sequence[NodeStatus], bare: bool) -> Iterator[str]:
    if bare:
        yield from _wrapped([node.node for node in nodes])
        return
    rows = _rows(nodes, _told)
    if len(rows) > _MOST:
        rows = _rows(nodes, _alike)
    rows.sort(key=lambda row: (row.since is None, row.since or 0.0, _natural(row.names[0])))
    shown = rows if len(rows) <= _MOST + 1 else rows[:_MOST]
    for row in shown:
        yield from _row(row)
    left = [name for row in rows[len(shown) :] for name in row.names]
    if left:
        yield from _wrapped(left, f"and {len(left)} more: ")


def _rows(nodes: Sequence[NodeStatus], key: Callable[[NodeStatus], Hashable]) -> list[_Row]:
    found: dict[Hashable, list[NodeStatus]] = {}
    for node in nodes:
        found.setdefault(key(node), []).append(node)
    rows = []
    for these in found.values():
        first = these[0]
        alike = len({_told(node) for node in these}) == 1
        more = "" if alike else f" (and alike on {len(these) - 1} more)"
        finding, words = (first.found, first.words) if len(these) == 1 else _told(first)
        rows.append(_Row(tuple(these), finding + more if finding else "", words if finding else words + more))
    return rows


def _told(node: NodeStatus) -> tuple[str, str]:
    """What is said of a node, without its own name and the names of runs."""
    return _general(node.found, node.node), _general(node.words, node.node)


def _alike(node: NodeStatus) -> tuple[str, str]:
    """What is said of a node, without figures and the numbers of its parts."""
    found, words = _told(node)
    return re.sub(r"[\d.:,]+", "#", found), re.sub(r"[\d.:,]+", "#", words)


def _general(text: str, name: str) -> str:
    text = re.sub(r" run=[^\s:;,]+|\(run [^)]*\)| in run \S+", "", text)
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", _PLACEHOLDER, text)


def _row(row: _Row) -> Iterator[str]:
    names = node_names.fold(row.names)
    said = [text.replace(_PLACEHOLDER, shlex.quote(names)) for text in (row.found, row.words) if text]
    if row.since is not None:
        since = f"since {minute_text(row.since)}"
        said = [f"{said[0]}, {since}", *said[1:]] if said else [since]
    if len(names) > _LONGEST // 4:
        yield from _wrapped(row.names)
        names = ""
    for text in said or [""]:
        yield f"  {names:<13} {text}".rstrip()
        names = ""


def _wrapped(names: Sequence[str], before: str = "") -> Iterator[str]:
    """A list of nodes in lines that are broken behind commas, so that they can be pasted together."""
    text = node_names.fold(names)
    cut = len(text) > _LONGEST
    line = f"  {before}"
    for part in re.findall(r"[^,]+,?", text[:_LONGEST].rpartition(",")[0] + "," if cut else text):
        if len(line) + len(part) > _WIDTH:
            yield line
            line = "    "
        line += part
    yield line + ("… (all of them: --json)" if cut else "")


def _used(caps: Sequence[UsedCap], when: str) -> str:
    first, *narrower = caps
    parts = ", ".join(f"partition {cap.partition}: {cap.used} of {cap.of}" for cap in narrower[:4])
    return f"{first.used} of {first.of} {when}" + (f" ({parts})" if parts else "")


def _natural(name: str) -> list[object]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _span(seconds: float) -> str:
    """``3 minutes``."""
    for size, unit, least in ((86400, "day", 2), (3600, "hour", 2), (60, "minute", 2)):
        if seconds >= size * least:
            return plural(round(seconds / size), unit)
    return plural(max(0, round(seconds)), "second")


def document(fleet: FleetStatus) -> dict[str, Any]:
    """``nearfar-slurm-status/1``."""
    return {
        "schema": "nearfar-slurm-status/1",
        "system": fleet.system,
        "time": utc_text(fleet.now),
        "acted": None if fleet.acted is None else utc_text(fleet.acted),
        "waits": fleet.waits,
        "drains": {
            "stopped": fleet.stopped, "in_all": [_cap(cap) for cap in fleet.in_all],
            "within_a_day": [_cap(cap) for cap in fleet.within_a_day],
        },
        "groups": {
            group: {"title": GROUPS[group], "count": len(nodes), "nodes": node_names.fold(node.node for node in nodes)}
            for group, nodes in fleet.by_group.items()
        },
        "nodes": [_node(node) for node in fleet.nodes],
        "held": list(fleet.blamed),
        "problems": list(fleet.problems),
    }  # fmt: skip


def _cap(cap: UsedCap) -> dict[str, Any]:
    return {"partition": cap.partition, "used": cap.used, "of": cap.of}


def _node(node: NodeStatus) -> dict[str, Any]:
    state = node.state
    return {
        "node": node.node, "group": node.group, "found": node.found or None, "why": node.words or None,
        "since": None if node.since is None else utc_text(node.since),
        "measured": None if node.measured is None else utc_text(node.measured),
        "state": None if state is None else state.words, "reason": None if state is None else state.why_out,
        "reason_by": None if state is None or state.why_out is None else state.reason_by,
    }  # fmt: skip
