"""The fleet in one screen, and as JSON: nodes of which the same is to be said stand in one line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.base import minute_text, plural, second_text, utc_text
from nearfar.slurm.controller import node_names

from .fleet_status import FleetStatus, SharedByMany, UsedCap
from .line_breaks import WIDTH, broken
from .node_group import BY_SLURM, GOOD, GROUPS, NOT_MEASURED, OTHERS, UNJUDGED, NodeStatus

#: Lines of nodes that a group has at most; what is more is folded further, and then counted.
_MOST = 12
#: Letters of a list of nodes that are shown; the whole list is in the JSON.
_LONGEST = 300
#: Seconds after which the timer of ``act`` is asked about.
_LONG_AGO = 86400.0
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
    ran += ": why? nearfar slurm doctor" if fleet.acted is not None and fleet.now - fleet.acted > _LONG_AGO else ""
    yield f"{fleet.system}: {plural(len(fleet.nodes), 'node')}, {second_text(fleet.now)}; {ran}"
    log = "" if fleet.trouble is None else " (by the log)"
    yield f"drains: {_used(fleet.in_all, 'in all')}; {_used(fleet.within_a_day, 'within a day')}{log}"
    if fleet.trouble is not None:
        yield from _trouble(fleet.trouble)
    if fleet.stopped is not None:
        yield f"drains are stopped: {fleet.stopped}; to allow them: nearfar slurm allow-drains --because WORDS"
    for one in fleet.shared:
        yield from _shared(one, fleet.system)
    yield from fleet.problems
    for group, nodes in fleet.by_group.items():
        if nodes:
            lately = f" (within {_span(fleet.max_age)})" if group == NOT_MEASURED else ""
            yield ""
            yield f"{GROUPS[group]}{lately}: {len(nodes)}"
            yield from _group(nodes, group)


def _trouble(trouble: str) -> Iterator[str]:
    yield f"Slurm could not be asked: {trouble}"
    yield "  → scontrol ping; where slurmctld runs: systemctl status slurmctld"
    for group in BY_SLURM:
        yield f"{GROUPS[group]}: not known: slurmctld does not answer"
    yield "what follows is from act's log and the results alone; nodes of which neither says anything are missing"


def _shared(one: SharedByMany, system: str) -> Iterator[str]:
    """What many nodes have at once, and what a person types."""
    folded = node_names.fold(one.nodes)
    names = shlex.quote(folded if len(folded) <= _LONGEST else "NODES")
    many = f"on {len(one.nodes)} of {one.tested} nodes at once"
    if one.hard:
        yield f"held, you decide: {one.what}: hard evidence {many}: check the driver, recent changes and the power"
        yield f"  it was not the nodes:  nearfar slurm clear {names} --because WORDS"
        yield f"  it is the nodes:       scontrol update nodename={names} state=drain reason=WORDS"
    else:
        yield f"held, blamed on no node: {one.what} is slow {many}: check its reference or the driver"
        yield f"  its reference is old:  nearfar tune --system {system}   (docs/guide/driver-update.md)"
        yield f"  its cause is fixed:   nearfar slurm clear {names} --because WORDS"


def _group(nodes: Sequence[NodeStatus], group: str) -> Iterator[str]:
    if group == GOOD:
        yield from _wrapped([node.node for node in nodes])
        return
    rows = _rows(nodes, _told)
    # What others write is theirs: two tickets are never one line.
    if len(rows) > _MOST and group != OTHERS:
        rows = _rows(nodes, _alike)
    rows.sort(key=lambda row: (row.since is None, row.since or 0.0, _natural(row.names[0])))
    shown = rows if len(rows) <= _MOST + 1 else rows[:_MOST]
    for row in shown:
        yield from _row(row)
    left = [name for row in rows[len(shown) :] for name in row.names]
    if left:
        yield from _wrapped(left, f"and {len(left)} more: ")
    yield from _hint(nodes, group)


def _hint(nodes: Sequence[NodeStatus], group: str) -> Iterator[str]:
    """What a person types about a group whose lines do not say it."""
    names = node_names.fold(node.node for node in nodes)
    names = shlex.quote(names) if len(names) <= _LONGEST // 4 else "NODES"
    partitions = {node.state.partitions for node in nodes if node.state is not None}
    which = next(iter(partitions))[0] if len(partitions) == 1 and all(map(len, partitions)) else "P"
    if group == UNJUDGED:
        yield f"  → which file says so: nearfar slurm status {names}"
    if group in (UNJUDGED, NOT_MEASURED):
        yield f"  → measure them: nearfar slurm sweep --partition {which} --nodes {names} --idle"


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
    """What is said of a node, without figures and the numbers of its parts; what people wrote, in quotes, stays."""
    found, words = _told(node)
    return _without(r"[\d.:,]+", found, "#"), _without(r"[\d.:,]+", words, "#")


def _general(text: str, name: str) -> str:
    text = re.sub(r"reason='nearfar: [^']*'", "reason=WORDS", text)
    text = _without(r" run=[^\s:;,']+|\(run [^)]*\)| in run \S+", text, "")
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", _PLACEHOLDER, text)


def _without(pattern: str, text: str, instead: str) -> str:
    """A text in which a pattern is replaced, but not within what somebody wrote: quotes that do not follow ``=``."""
    return re.sub(rf"((?<![=\w])'[^']*')|{pattern}", lambda match: match[1] or instead, text)


def _row(row: _Row) -> Iterator[str]:
    names = node_names.fold(row.names)
    said = [text.replace(_PLACEHOLDER, shlex.quote(names)) for text in (row.found, row.words) if text]
    if row.since is not None:
        since = f"since {minute_text(row.since)}"
        said = [f"{said[0]}, {since}", *said[1:]] if said else [since]
    if len(names) > _LONGEST // 4:
        yield from _wrapped(row.names)
        names = ""
    for text in [line for each in said for line in broken(each)] or [""]:
        yield f"  {names:<13} {text}".rstrip()
        names = ""


def _wrapped(names: Sequence[str], before: str = "") -> Iterator[str]:
    """A list of nodes in lines that are broken behind commas, so that they can be pasted together."""
    text = node_names.fold(names)
    cut = len(text) > _LONGEST
    line = f"  {before}"
    for part in re.findall(r"[^,]+,?", text[:_LONGEST].rpartition(",")[0] + "," if cut else text):
        if len(line) + len(part) > WIDTH:
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
        "trouble": fleet.trouble,
        "drains": {
            "stopped": fleet.stopped, "in_all": [_cap(cap) for cap in fleet.in_all],
            "within_a_day": [_cap(cap) for cap in fleet.within_a_day],
        },
        "groups": {group: _group_entry(fleet, group) for group in fleet.by_group},
        "nodes": [_node(node) for node in fleet.asked_for or fleet.nodes],
        "held": [one.words for one in fleet.shared if one.hard],
        "shared": [_shared_entry(one) for one in fleet.shared],
        "problems": list(fleet.problems),
    }  # fmt: skip


def _group_entry(fleet: FleetStatus, group: str) -> dict[str, Any]:
    nodes = fleet.by_group[group]
    if fleet.trouble is not None and group in BY_SLURM:
        return {"title": GROUPS[group], "count": None, "nodes": None}
    return {"title": GROUPS[group], "count": len(nodes), "nodes": node_names.fold(node.node for node in nodes)}


def _shared_entry(one: SharedByMany) -> dict[str, Any]:
    return {"words": one.words, "hard": one.hard, "nodes": node_names.fold(one.nodes), "tested": one.tested}


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
