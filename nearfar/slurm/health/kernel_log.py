"""The kernel's log since the last check: Xids, SXids and adapters that the driver could not initialise.

The lines come from ``/dev/kmsg``; those from between the last check and a reboot, which that no longer holds, from the journal.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar.base import Finding, grouped, process
from nearfar.topology.inventory import Event, LogLine, Ring, kernel_lines

from . import messages
from .source import Now, Seen
from .xids import ACTION, ACTIONS, APPLICATION, HARD, LOOK, NVLINK5, RESET, XIDS, verdict

#: Seconds that the journal may take.
JOURNAL = 1.5
#: When a line was logged that accuses nobody.
_BEFORE = "before the first health check (it may be fixed by now)"
_TO = re.compile(r"\bto 0x([0-9a-fA-F]+) \(")
_FATAL = re.compile(r"(?<![A-Za-z-])fatal\b", re.IGNORECASE)
#: Entries of the journal that are read whole: those with rubbish in them come as numbers.
_WHOLE = (*(word.decode() for word in kernel_lines.WANTED), '"MESSAGE":[', '"MESSAGE" : [')


#: What the journal holds of the previous boot since the last check: lines, and why it may not be all of them.
PreviousBoot = tuple[tuple[LogLine, ...], str]


def end_of_boot(boot: str, after: float, program: str | None = None) -> PreviousBoot:
    """What the journal holds of a boot from ``after`` seconds on, newest first for as long as it may take. ``program``: another
    journalctl than the one of the PATH."""
    program = program or shutil.which("journalctl")
    if not program or not os.access(program, os.X_OK):
        return (), "journalctl is not installed"
    command = [
        program, "--quiet", "--no-pager", "--reverse", "--output=json", "_TRANSPORT=kernel", f"_BOOT_ID={boot.replace('-', '')}",
        "--output-fields=MESSAGE,SYSLOG_FACILITY,_SOURCE_MONOTONIC_TIMESTAMP",
    ]  # fmt: skip
    answer = process.run(command, JOURNAL, grace=0.1)
    records = answer.stdout.splitlines()
    lines = [kernel_lines.from_journal(record) for record in records if any(words in record for words in _WHOLE)]
    found = [line for line in lines if line is not None and after < line.at and line.text]
    oldest, why = kernel_lines.from_journal(records[-2]) if len(records) > 1 else None, ""
    if answer.timed_out and (oldest is None or oldest.at > after):
        why = f"there is more than can be read in {JOURNAL:g} s; the newest was read"
    elif not records:
        why = answer.last_line or "it holds nothing of that boot, or this user may not read it"
    return tuple(found[::-1]), why


def classify(now: Now, ring: Ring, previous: PreviousBoot = ((), "")) -> Seen:
    """What the lines since the last check say. What stood in the log before the first check of all accuses nobody: it may have been
    fixed since."""
    records, why = ring
    last = int(now.past.get("sequence", -1)) if now.same_boot else -1
    lines = [*previous[0], *(line for line in records or () if line.sequence > last and line.text)]
    at = float(now.past.get("log_at", 0.0)) if now.same_boot else 0.0
    newest = records[-1] if records else LogLine(at, "", last)
    first = not now.past
    found, notes = [], []
    unread = [f"the kernel's log between the last health check and this boot: {previous[1]}"] if previous[1] else []
    if records is None:
        unread.append(f"the kernel's log: {why}")
    elif records and now.past and (lost := records[0].sequence - last - 1) > 0:
        unread.append(f"the kernel's log: {lost} lines since the last health check are gone from /dev/kmsg")
    reported = kernel_lines.events(lines)
    together = grouped(((event.kind, event.pci, event.number, _kind(event)), event) for event in reported)
    for (_, _, _, kind), same in together.items():
        if kind == APPLICATION:
            notes.append(_finding(now, kind, same, None))
        else:
            one = _finding(now, kind, same, _BEFORE if first else None)
            found.append(replace(one, verdict="DEGRADED", hard=False) if first else one)
    past = {"sequence": newest.sequence, "log_at": newest.at}
    return Seen(f"{len(reported)} of the driver's errors", tuple(found), tuple(notes), tuple(unread), past)


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
