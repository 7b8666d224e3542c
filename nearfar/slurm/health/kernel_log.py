"""The kernel's log since the last check: Xids, SXids and adapters that the driver could not initialise.

The lines come from ``/dev/kmsg``, and from the journal what that no longer holds.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from nearfar.base import Finding, process
from nearfar.topology.inventory import Event, LogLine, Ring, kernel_lines

from . import messages
from .source import Now, Seen
from .xids import ACTION, ACTIONS, APPLICATION, HARD, LOOK, NVLINK5, RESET, XIDS, verdict

#: Seconds that the journal may take for one boot.
JOURNAL = 1.5
#: When a line was logged that accuses nobody.
_BEFORE = "before the first health check (it may be fixed by now)"
_TO = re.compile(r"\bto 0x([0-9a-fA-F]+) \(")
_FATAL = re.compile(r"(?<![A-Za-z-])fatal\b", re.IGNORECASE)
#: Entries of the journal that are read whole: those with rubbish in them come as numbers.
_WHOLE = (*(word.decode() for word in kernel_lines.WANTED), '"MESSAGE":[', '"MESSAGE" : [')


#: What the journal holds of gaps: lines, and which part was not read and why.
Filled = tuple[tuple[LogLine, ...], tuple[str, ...]]


@dataclass(frozen=True)
class LogGap:
    """A part of the log that only the journal may hold."""

    #: The kernel's name of the boot.
    boot: str | None
    #: Seconds since boot between which it lies.
    after: float
    before: float
    #: Which part it is, in words.
    what: str


def gaps(now: Now, ring: Ring) -> list[LogGap]:
    """What the ring does not hold of the time since the last check: the end of the boot before, and lines that were overwritten."""
    found, at, before = [], float(now.past.get("log_at", 0.0)), now.past.get("boot")
    last, (records, why) = int(now.past.get("sequence", -1)) if now.same_boot else -1, ring
    if before and not now.same_boot:
        found.append(LogGap(str(before), at, inf, "the kernel's log between the last health check and this boot"))
        at = 0.0
    if records is None:
        found.append(LogGap(now.boot, at, inf, f"the kernel's log: {why}"))
    elif records and now.past and (lost := records[0].sequence - last - 1) > 0:
        what = f"the kernel's log: {lost} lines since the last health check are gone from /dev/kmsg"
        found.append(LogGap(now.boot, at, records[0].at, what))
    return found


def fill(missing: Iterable[LogGap], journalctl: str | None = None) -> Filled:
    """What the journal holds of them, newest first for as long as it may take. ``journalctl``: another than the one of the PATH."""
    program = process.find_program("journalctl") if journalctl is None else journalctl
    lines: list[LogLine] = []
    unread = []
    for gap in missing:
        found, why = _journal(gap, program)
        lines += found
        if why:
            unread.append(f"{gap.what}; the journal: {why}")
    return tuple(lines), tuple(unread)


def _journal(gap: LogGap, program: str | None) -> tuple[list[LogLine], str]:
    if not program or not os.access(program, os.X_OK):
        return [], "journalctl is not installed"
    if not gap.boot:
        return [], "this boot's name cannot be read"
    command = [
        program, "--quiet", "--no-pager", "--reverse", "--output=json", "_TRANSPORT=kernel", f"_BOOT_ID={gap.boot.replace('-', '')}",
        "--output-fields=MESSAGE,SYSLOG_FACILITY,_SOURCE_MONOTONIC_TIMESTAMP",
    ]  # fmt: skip
    answer = process.run(command, JOURNAL, grace=0.1)
    records = answer.stdout.splitlines()
    lines = [kernel_lines.from_journal(record) for record in records if any(words in record for words in _WHOLE)]
    found = [line for line in lines if line is not None and gap.after < line.at < gap.before and line.text]
    oldest, why = kernel_lines.from_journal(records[-2]) if len(records) > 1 else None, ""
    if answer.timed_out and (oldest is None or oldest.at > gap.after):
        why = f"there is more than can be read in {JOURNAL:g} s; the newest was read"
    elif not records:
        why = answer.last_line or "it holds nothing of that boot, or this user may not read it"
    return found[::-1], why


def classify(now: Now, ring: Ring, journal: Filled) -> Seen:
    """What the lines since the last check say. What stood in the log before the first check of all accuses nobody: it may have been
    fixed since."""
    same_boot, (records, _) = now.same_boot, ring
    last = int(now.past.get("sequence", -1)) if same_boot else -1
    at = float(now.past.get("log_at", 0.0)) if same_boot else 0.0
    lines = [*journal[0], *(line for line in records or () if line.sequence > last and line.text)]
    newest = records[-1] if records else LogLine(max([at, *(line.at for line in lines)]), "", last)
    first = not now.past
    found, notes = [], []
    reported = kernel_lines.events(lines)
    together: dict[tuple[str, str, int, str], list[Event]] = defaultdict(list)
    for event in reported:
        together[event.kind, event.pci, event.number, _kind(event)].append(event)
    for (_, _, _, kind), same in together.items():
        if kind == APPLICATION:
            notes.append(_finding(now, kind, same, None))
        else:
            one = _finding(now, kind, same, _BEFORE if first else None)
            found.append(replace(one, verdict="DEGRADED", hard=False) if first else one)
    said = f"{'journal' if records is None else '/dev/kmsg'}: {len(reported)} of the driver's errors"
    past = {"sequence": newest.sequence, "log_at": newest.at}
    return Seen(said, tuple(found), tuple(notes), journal[1], past)


def _kind(one: Event) -> str:
    if one.kind == "init":
        return RESET
    xid = XIDS.get(one.number)
    if one.kind == "sxid" or (xid is not None and xid.kind == NVLINK5):
        return HARD if _FATAL.search(one.text) else LOOK
    if xid is None:
        return LOOK
    if xid.kind == ACTION:
        code = _action(one.text)
        return APPLICATION if code == 0 else ACTIONS[code].kind if code in ACTIONS else LOOK
    return xid.kind


def _finding(now: Now, kind: str, same: Sequence[Event], logged: str | None) -> Finding:
    """What the same events of one device say. ``logged``: when, unless since the last check."""
    last = same[-1]
    judged, hard = verdict(kind)
    fields: Mapping[str, Any] = {
        "verdict": judged, "hard": hard, "line": last.text, "logged": logged, "times": len(same) if len(same) > 1 else None,
    }  # fmt: skip
    if last.kind == "sxid":
        switch = last.switch.removeprefix("nvidia-")
        message = messages.SXID_FATAL if kind == HARD else messages.SXID_NONFATAL
        subject = f"{switch}.sxid{last.number}"
        return message.finding(subject, switch=switch, pci=last.pci, number=last.number, **fields)
    if last.kind == "init":
        return now.finding(messages.INIT_FAILED, last.pci, "init", **fields)
    message, action = messages.XID.get(last.number, messages.XID_OTHER), _action(last.text)
    if last.number in XIDS and XIDS[last.number].kind == ACTION and action is not None:
        message = messages.RECOVERY.get(action, messages.RECOVERY_OTHER)
        fields = {**fields, "action": action}
    return now.finding(message, last.pci, f"xid{last.number}", number=last.number, **fields)


def _action(text: str) -> int | None:
    """The recovery action that Xid 154 names; None where it names none."""
    match = _TO.search(text)
    return int(match[1], 16) if match else None
