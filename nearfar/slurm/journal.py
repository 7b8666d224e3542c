"""The log of ``nearfar slurm act``: JSON lines, only ever added to, on the disk before anything is done about a node."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from nearfar.errors import CouldNotJudge
from nearfar.files import cannot_write
from nearfar.slurm.observed import Drained, Past

SCHEMA = "nearfar-act-log/1"
#: What ends a line that a crash cut short; readers pass over it. What it announced was never done: the line comes first.
_TORN = " #torn"
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
#: Actions after which a node carries a reason of ours.
_DRAINS = ("drain", "drain_again")
#: Actions that void earlier evidence on a node.
_RELEASES = ("resume", "release")
_VOIDING = (*_DRAINS, *_RELEASES, "clear")


@dataclass(frozen=True)
class Entry:
    """A line: what was begun about a node, or how that ended. ``outcome``: begun; done; refused (nothing was written);
    unclear (Slurm did not answer)."""

    action: str
    outcome: str
    at: float
    id: str
    node: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


class Journal:
    """The log in one file. ``folder`` must be this user's or root's alone (the caller has checked that)."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.jsonl"

    def begin(self, action: str, at: float, node: str | None = None, **more: Any) -> Entry:
        """Write down that an action begins; on the disk when this returns."""
        entry = Entry(action, "begun", at, secrets.token_hex(4), node, more)
        self._append(entry)
        return entry

    def end(self, begun: Entry, outcome: str, at: float, **more: Any) -> None:
        """Write down how an action ended: ``done``, ``refused``, ``unclear``."""
        self._append(Entry(begun.action, outcome, at, begun.id, begun.node, more))

    def note(self, action: str, at: float, node: str | None = None, **more: Any) -> None:
        """Write down what needs nothing of Slurm: a latch, a person's word."""
        self._append(Entry(action, "done", at, secrets.token_hex(4), node, more))

    def entries(self) -> list[Entry]:
        """All lines. Raises ``CouldNotJudge`` for a damaged one: caps cannot be counted from it."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise CouldNotJudge(f"{self.path}: cannot be read ({error}); nothing is done without it") from None
        lines = text.split("\n")
        # The last line of a whole file is empty; else its writer was interrupted, before it had done anything.
        return [self._entry(number, line) for number, line in enumerate(lines[:-1], 1) if not line.endswith(_TORN)]

    def _entry(self, number: int, line: str) -> Entry:
        try:
            raw = json.loads(line)
            at = datetime.strptime(raw.pop("time"), _TIME).replace(tzinfo=timezone.utc).timestamp()
            if raw.pop("schema") != SCHEMA:
                raise ValueError("another schema")
            return Entry(raw.pop("action"), raw.pop("outcome"), at, raw.pop("id"), raw.pop("node", None), raw)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CouldNotJudge(
                f"{self.path}:{number}: not a line of this log ({why}); mend it, or move the file away: nodes drained "
                f"earlier then wait for a person"
            ) from None

    def _append(self, entry: Entry) -> None:
        time = datetime.fromtimestamp(entry.at, timezone.utc).strftime(_TIME)
        line = {
            "schema": SCHEMA, "time": time, "action": entry.action, "outcome": entry.outcome, "id": entry.id,
            **({} if entry.node is None else {"node": entry.node}), **entry.more, "by": _user(), "host": socket.gethostname(),
        }  # fmt: skip
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                torn = _TORN + "\n" if _cut_short(handle) else ""
                data = (torn + json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n").encode()
                if os.write(handle, data) != len(data):
                    raise CouldNotJudge(f"{self.path}: the disk is full; nothing is done that cannot be written down")
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise cannot_write(self.path, error, "name another --state DIR") from None


def _cut_short(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"


def _user() -> str:
    with suppress(KeyError):
        return pwd.getpwuid(os.geteuid()).pw_name
    return str(os.geteuid())


def past(entries: Iterable[Entry]) -> Past:
    """What the log says of each node. What was begun counts as done unless it was refused; a node counts as resumed only
    when that is known to have been done."""
    first: dict[str, Entry] = {}
    outcomes: dict[str, str] = {}
    for entry in entries:
        first.setdefault(entry.id, entry)
        outcomes[entry.id] = entry.outcome
    reader = _Reader()
    for entry in first.values():
        if outcomes[entry.id] != "refused":
            reader.read(entry, outcomes[entry.id] == "done")
    return Past(reader.since, reader.drained, tuple(reader.drains), reader.cleared, reader.latched, reader.quarantines)


class _Reader:
    """The state after the lines read so far."""

    def __init__(self) -> None:
        self.since: dict[str, float] = {}
        self.drained: dict[str, Drained] = {}
        self.cleared: dict[str, float] = {}
        self.drains: list[tuple[str, float]] = []
        self.latched: str | None = None
        self.quarantines: dict[str, dict[str, dict[str, Any]]] = {}

    def read(self, entry: Entry, done: bool) -> None:
        if entry.action == "latch":
            self.latched = str(entry.more.get("why", "the cap was reached"))
        elif entry.action == "reset_latch":
            self.latched, self.drains = None, []
        elif entry.action == "quarantine":
            self.quarantines[entry.more["reservation"]] = entry.more["nodes"]
        elif entry.action == "quarantine_over":
            self.quarantines[
                entry.more["reservation"]
            ] = {}  # all are drained or have passed; the reservation may be left
        elif entry.action == "quarantine_end":
            self.quarantines.pop(entry.more["reservation"], None)
        elif entry.node is not None:
            self._of_node(entry.node, entry, done)

    def _of_node(self, node: str, entry: Entry, done: bool) -> None:
        if entry.action in _VOIDING:
            self.since[node] = max(self.since.get(node, 0.0), entry.at)
        if entry.action in _DRAINS:
            self.drained[node] = _drained(entry)
            self.drains += [(node, entry.at)] if entry.action == "drain" else []
        elif entry.action in _RELEASES and done:
            self.drained.pop(node, None)
        elif entry.action == "clear":
            self.cleared[node] = entry.at
            if entry.more.get("reason"):
                self.drained[node] = _drained(entry)  # one that this log did not know


def _drained(entry: Entry) -> Drained:
    more = entry.more
    return Drained(entry.at, str(more.get("reason")), str(more.get("check")), more.get("what"), more.get("hard"))
