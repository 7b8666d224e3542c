"""What was done about nodes and seen of them, from the log of ``act``: who drained, cleared, rebooted, resumed, and what flaps."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from nearfar.base import NearfarError, utc_text
from nearfar.site import FlapRule
from nearfar.slurm.controller import node_names
from nearfar.slurm.findings import Entry, Flaps

#: What is flapping where no site's file says it.
DEFAULT_FLAPS = FlapRule()
#: What each action of the log is called; None: it is of no use to a reader.
_WORDS: dict[str, str | None] = {
    "drain": "drained", "drain_again": "drained again", "drain_as_before": "drained as before", "resume": "resumed",
    "release": "released", "retest": "retested", "comment": "comment", "uncomment": "comment gone", "clear": "cleared",
    "evidence": "found", "closed": "closed", "drained_by_others": "drained by others",
    "back_in_use": "resumed by others", "resumed_by_others": "resumed by others", "rebooted": "rebooted",
    "held": "held", "held_over": "no longer held",
    "died": "died", "up_again": "up again", "latch": "drains stopped", "reset_latch": "drains allowed",
    "drain_seen": None, "quarantine": None, "quarantine_over": None, "quarantine_end": None,
}  # fmt: skip
_DOWN, _UP = ("drain", "drain_again", "drained_by_others"), ("resume", "release", "back_in_use", "resumed_by_others")
_OTHERS, _SEEN = ("drained_by_others", "back_in_use", "resumed_by_others"), ("rebooted", "died", "up_again")
_HELD = ("held", "held_over")
_AGO, _UNITS = re.compile(r"([0-9]{1,6})([mhdw])"), {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


@dataclass(frozen=True)
class LogEvent:
    """One thing that was done or seen at ``at`` (seconds since 1970). ``node`` None: of all nodes; ``by``: who, None: not known;
    ``outcome``: done, or refused, unclear, begun (its end is not known); ``flap``: how often it was drained lately, where it
    flaps; empty: it does not; ``nodes``: all that it is of, where these are several."""

    at: float
    node: str | None
    action: str
    what: str
    by: str | None
    why: str
    outcome: str = "done"
    flap: str = ""
    nodes: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """``2026-11-21T20:11:59Z  n2  drained  root  nearfar: FAIL …``."""
        how = {"refused": " (not done)", "unclear": " (Slurm did not answer)", "begun": " (its end is not known)"}
        mark = f"  FLAPS: {self.flap}" if self.flap else ""
        what, by = f"{self.what}{how.get(self.outcome, '')}", self.by or ("somebody" if self.action in _OTHERS else "-")
        which = self.node or (node_names.fold(self.nodes) if self.nodes else "-")
        return f"{utc_text(self.at)}  {which:<10} {what:<17} {by:<12} {self.why}{mark}".rstrip()

    @property
    def document(self) -> dict[str, Any]:
        """Its entry in ``nearfar-slurm-log/1``."""
        return {
            "time": utc_text(self.at), "node": self.node, "action": self.action, "what": self.what, "by": self.by, "why": self.why,
            "outcome": self.outcome, "flap": bool(self.flap), "nodes": node_names.fold(self.nodes) if self.nodes else self.node,
        }  # fmt: skip


def events(
    entries: Sequence[Entry], nodes: Collection[str] = (), since: float = 0.0, rule: FlapRule = DEFAULT_FLAPS
) -> Iterator[LogEvent]:
    """What the log says, oldest first: of some nodes (empty: of all, and what concerns them all), from a time on. ``rule``: how many
    drains, by whomever and with the node in use between them, are flapping."""
    ends = {entry.id: entry for entry in entries if entry.outcome != "begun"}
    wanted, begun = frozenset(nodes), set()
    flaps = Flaps()
    for entry in entries:
        if entry.id in begun:
            continue
        begun.add(entry.id)
        event = _event(entry, ends.get(entry.id, entry))
        if event is None:
            continue
        node = event.node
        if node is not None and event.outcome == "done":
            if event.action in _DOWN:
                again = node in flaps.in_use
                flaps.drained(node, event.at)
                event = replace(event, flap=(flaps.words(node, rule) or "") if again else "")
            elif event.action in _UP:
                flaps.resumed(node)
        if event.at >= since and (not wanted or node in wanted or not wanted.isdisjoint(event.nodes)):
            yield event


def _event(first: Entry, last: Entry) -> LogEvent | None:
    """What two lines of an action say; None where a reader has no use for it."""
    what = _WORDS.get(first.action, first.action.replace("_", " "))
    if what is None:
        return None
    at, more = first.at, first.more
    if first.action == "rebooted":
        at = float(more.get("booted", at))
    by = more.get("who") if first.action in _OTHERS else None if first.action in _SEEN else _by(more)
    nodes = tuple(map(str, more.get("nodes", ()))) if first.action in _HELD else ()
    return LogEvent(at, first.node, first.action, what, by, _why(first, last), last.outcome, nodes=nodes)


def _by(more: Any) -> str | None:
    by, typed = more.get("by"), more.get("sudo")
    return f"{by} ({typed})" if by and typed else by


def _why(first: Entry, last: Entry) -> str:
    more = first.more
    if first.action == "evidence":
        return f"{more.get('check')}: {more['finding']['reason']}"
    if first.action == "release" and "reservation" in more:
        return "it passed its retest"
    if first.action == "retest":
        return f"inside reservation {more.get('reservation')}"
    if first.action == "back_in_use":
        return "seen in use, though somebody else had drained it"
    if first.action == "resumed_by_others":
        return "seen in use, though act had drained it"
    words = [str(more[key]) for key in ("reason", "why", "state") if more.get(key)]
    if first.action in ("resume", "release"):  # the reason is the one that it was drained with
        words = words[::-1]
    text = " · ".join(" ".join(word.split()) for word in words)
    error = last.more.get("error")
    return f"{text} ({error})" if error else text


def since(text: str, now: float) -> float:
    """``24h``, ``7d``, ``2w``, ``90m``, a UTC date or time (``2026-11-21``, ``2026-11-21T09:00``) or ``all``, as seconds since 1970.
    Raises ``NearfarError`` for anything else."""
    if text == "all":
        return 0.0
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _UNITS[ago[2]]
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"):
        try:
            return datetime.strptime(text.removesuffix("Z"), form).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:
            continue
    raise NearfarError(f"--since {text}: expected 24h, 7d, a date such as 2026-11-21 (UTC), 2026-11-21T09:00, or all")
