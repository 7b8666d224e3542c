"""The log of ``nearfar slurm act``: JSON lines, only ever added to, on the disk before anything is done about a node."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, cannot_write, user_name

SCHEMA = "nearfar-act-log/1"
#: What ends a line that a crash cut short; readers pass over it. What it announced was never done: the line comes first.
_TORN = b" #torn"
#: Bytes at the log's end in which its last line is looked for.
_TAIL = 1 << 16
_WITHOUT = "nodes drained earlier then wait for a person, drains are allowed, and what a person has closed counts again"
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


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


class ActLog:
    """The log in one file. ``folder`` must be this user's or root's alone (the caller has checked that). ``without``: what follows,
    in words, where the file is moved away."""

    def __init__(self, folder: Path, name: str = "log.jsonl", without: str = _WITHOUT) -> None:
        self.path, self._without = folder / name, without

    def begin(self, action: str, at: float, node: str | None = None, **more: Any) -> Entry:
        """Write down that an action begins; on the disk when this returns."""
        entry = Entry(action, "begun", at, secrets.token_hex(4), node, more)
        self._append(entry)
        return entry

    def end(self, begun: Entry, outcome: str, at: float, **more: Any) -> None:
        """Write down how an action ended: ``done``, ``refused``, ``unclear``."""
        self._append(Entry(begun.action, outcome, at, begun.id, begun.node, more))

    def note(self, action: str, at: float, node: str | None = None, **more: Any) -> Entry:
        """Write down what needs nothing of Slurm: a finding, a stop of drains, a person's word."""
        entry = Entry(action, "done", at, secrets.token_hex(4), node, more)
        self._append(entry)
        return entry

    def entries(self) -> list[Entry]:
        """All lines. Raises ``CouldNotJudge`` for a damaged one: caps cannot be counted from it."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CouldNotJudge(f"{self.path}: cannot be read ({error}); nothing is done without it") from None
        # The last line of a whole file is empty; else its writer was interrupted, before it had done anything.
        return [self._entry(number, line) for number, line in enumerate(lines[:-1], 1) if not line.endswith(_TORN)]

    def last(self) -> Entry | None:
        """The last whole line; None where there is none, or it is not a line of this log. ``more`` has its ``host``."""
        try:
            with open(self.path, "rb") as stream:
                stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL))
                lines = stream.read().split(b"\n")
        except OSError:
            return None
        line = next((line for line in reversed(lines[:-1]) if not line.endswith(_TORN)), b"")
        with suppress(CouldNotJudge):
            return self._entry(0, line)
        return None

    def _entry(self, number: int, line: bytes) -> Entry:
        try:
            raw = json.loads(line.decode())
            at = _seconds(raw.pop("time"))
            if raw.pop("schema") != SCHEMA:
                raise ValueError("another schema")
            return Entry(raw.pop("action"), raw.pop("outcome"), at, raw.pop("id"), raw.pop("node", None), raw)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise CouldNotJudge(
                f"{self.path}:{number}: not a line of this log ({why}); fix it, or move the file away: {self._without}"
            ) from None

    def _append(self, entry: Entry) -> None:
        time = datetime.fromtimestamp(entry.at, timezone.utc).strftime(_TIME)
        line = {
            "schema": SCHEMA, "time": time, "action": entry.action, "outcome": entry.outcome, "id": entry.id,
            **({} if entry.node is None else {"node": entry.node}), **entry.more, **_by(), "host": socket.gethostname(),
        }  # fmt: skip
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            try:
                text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
                data = (_TORN + b"\n" if _cut_short(handle) else b"") + text.encode(errors="replace")
                before = os.fstat(handle).st_size
                if os.write(handle, data) != len(data):
                    os.ftruncate(handle, before)
                    raise CouldNotJudge(f"{self.path}: the disk is full; nothing is done that cannot be written down")
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise cannot_write(self.path, error, "name another --state DIR") from None


def _seconds(text: str) -> float:
    """A time of the log in seconds since 1970. ``strptime`` takes ten times as long, and a log has many lines."""
    if len(text) != 27 or text[10] != "T" or text[-1] != "Z":
        raise ValueError(f"no time: {text}")
    return datetime.fromisoformat(text[:-1]).replace(tzinfo=timezone.utc).timestamp()


def _cut_short(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"


def _by() -> dict[str, str]:
    """Who does it; and who typed it, where sudo says so."""
    user, typed = user_name(os.geteuid()), os.environ.get("SUDO_USER", "")
    return {"by": user, **({"sudo": typed} if typed not in ("", user) else {})}
