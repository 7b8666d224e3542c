"""Xids, SXids and adapters that did not start, in the kernel's log since the last look."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar.base import MESSAGES, Finding

from . import messages
from .log_lines import Event, events
from .log_reader import KernelLog, read
from .nvml_answers import each
from .source import Now, Seen
from .xids import ACTION, ACTIONS, APPLICATION, HARD, LOOK, NVLINK5, RESET, XIDS, verdict

#: When a line was logged that accuses nobody.
_BEFORE = "before the first health check (it may be fixed by now)"
_TO = re.compile(r"\bto 0x([0-9a-fA-F]+) \(")
_FATAL = re.compile(r"(?<![A-Za-z-])fatal\b", re.IGNORECASE)


def look(now: Now, journalctl: Sequence[str] | None = None) -> Seen:
    """Read the log and say what NVIDIA's driver told in it."""
    return classify(now, read(now, journalctl), _wants_nothing)


def classify(
    now: Now, log: KernelLog, wants_nothing: Callable[[Now], frozenset[str]] = lambda now: frozenset()
) -> Seen:
    """What the lines say. ``wants_nothing``: bus ids of the GPUs of which the driver says that they want no reset; asked only
    where one might.

    What stood in the log before the first look of all accuses nobody: it may have been fixed since.
    """
    first = not now.past
    found, notes, wants_reset = [], [], {}
    told = events(log.lines)
    for kind, these in _groups(told):
        one = _finding(now, kind, these, _BEFORE if first and kind != APPLICATION else None)
        if kind == APPLICATION:
            notes.append(one)
            continue
        found.append(replace(one, verdict="DEGRADED", hard=False) if first else one)
        if kind == RESET and not first:
            wants_reset[one.subject] = (one.code, one.fields)
    waiting = {**(now.past.get("waiting") or {}), **wants_reset} if now.same_boot else wants_reset
    if waiting:
        fine = wants_nothing(now)
        new = {one.subject for one in found}
        waiting = {
            item: (code, fields)
            for item, (code, fields) in waiting.items()
            if code in MESSAGES and fields["pci"] not in fine
        }
        found += [
            MESSAGES[code].finding(item, **{**fields, "logged": "earlier, and no reboot since"})
            for item, (code, fields) in waiting.items()
            if item not in new
        ]
    past = {"sequence": log.sequence, "log_at": log.at, "waiting": waiting, "errors": len(told)}
    return Seen(f"{log.read}: {len(told)} of the driver's errors", tuple(found), tuple(notes), log.unread, past)


def _groups(told: Iterable[Event]) -> list[tuple[str, list[Event]]]:
    """The events of each number of each device, with their class."""
    together: dict[tuple[str, str, int, str], list[Event]] = defaultdict(list)
    for one in told:
        kind = _kind(one)
        together[one.kind, one.pci, one.number, kind].append(one)
    return [(kind, these) for (_, _, _, kind), these in together.items()]


def _kind(one: Event) -> str:
    """The class of an event."""
    if one.kind == "init":
        return RESET
    if one.kind == "sxid":
        return HARD if _FATAL.search(one.text) else LOOK
    xid = XIDS.get(one.number)
    if xid is None:
        return LOOK
    if xid.kind == NVLINK5:
        return HARD if _FATAL.search(one.text) else LOOK
    if xid.kind == ACTION:
        code = _action(one.text)
        return APPLICATION if code == 0 else ACTIONS[code].kind if code in ACTIONS else LOOK
    return xid.kind


def _finding(now: Now, kind: str, these: Sequence[Event], logged: str | None) -> Finding:
    """What the same events of one device say. ``logged``: when, unless since the last look."""
    last = these[-1]
    judged, hard = verdict(kind)
    fields: dict[str, Any] = {"verdict": judged, "hard": hard, "line": last.text, "logged": logged}
    fields["times"] = len(these) if len(these) > 1 else None
    if last.kind == "sxid":
        switch = last.switch.removeprefix("nvidia-")
        message = messages.SXID_FATAL if kind == HARD else messages.SXID_NONFATAL
        return message.finding(
            f"{switch}.sxid{last.number}", switch=switch, pci=last.pci, number=last.number, **fields
        )  # fmt: skip
    if last.kind == "init":
        return now.finding(messages.INIT_FAILED, last.pci, "init", **fields)
    message = messages.XID.get(last.number, messages.XID_OTHER)
    action = _action(last.text)
    if last.number in XIDS and XIDS[last.number].kind == ACTION and action is not None:
        message = messages.RECOVERY.get(action, messages.RECOVERY_OTHER)
        fields["action"] = action
    return now.finding(message, last.pci, f"xid{last.number}", number=last.number, **fields)


def _action(text: str) -> int | None:
    """The recovery action that Xid 154 names; None where it names none."""
    match = _TO.search(text)
    return int(match[1], 16) if match else None


def _wants_nothing(now: Now) -> frozenset[str]:
    """Bus ids of the GPUs of which the driver says that they want no reset."""
    key = ("GET_GPU_RECOVERY_ACTION", 0)
    return frozenset(gpu.pci for gpu in each(now) if gpu.fields([key]).get(key) == 0)


def errors_before(past: Mapping[str, Any] | None) -> int:
    """How many of the driver's errors a look found, from what it kept."""
    return int((past or {}).get("errors") or 0)
