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

from nearfar.base import CouldNotJudge, cannot_write, conforms, files, user_name, validator

SCHEMA = "nearfar-act-log/1"
#: What ends a line that a crash cut short; readers pass over it. What it announced was never done: the line comes first.
_TORN = b" #torn"
#: Bytes at the log's end in which its last line is looked for.
_TAIL = 1 << 16
_WITHOUT = "nodes drained earlier then wait for a person, drains are allowed, and what a person has closed counts again"
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
#: The package's JSON schema of all lines.
_LINES = "act-log-1"
#: Of which types values are by action (None: it may be missing), where the schema of all actions does not say it.
_OF_ACTION: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "evidence": {"finding": (dict,)},
    "closed": {"passed": (int, float, type(None))},
    "quarantine": {"reservation": (str,), "nodes": (dict,)},
    "quarantine_over": {"reservation": (str,), "passed": (list, type(None))},
    "quarantine_end": {"reservation": (str,)},
    "held": {"cause": (str,), "nodes": (list,)},
    "held_over": {"cause": (str,), "nodes": (list,)},
}


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
            if files.leads_nowhere(self.path.parent):
                words = "a link that leads nowhere: is its file system mounted? nothing is done without the log"
                raise CouldNotJudge(f"{self.path.parent}: {words}") from None
            return []
        except OSError as error:
            words = f"cannot be read: {error.strerror}; nothing is done without it"
            raise CouldNotJudge(f"{self.path}: {words}") from None
        # The last line of a whole file is empty; else its writer was interrupted, before it had done anything.
        whole = [(number, line) for number, line in enumerate(lines[:-1], 1) if not line.endswith(_TORN)]
        read = [self._parsed(number, line) for number, line in whole]
        if not conforms(_LINES)(read):
            for (number, _), raw in zip(whole, read, strict=True):
                self._check(number, raw)
        return [self._entry(number, raw) for (number, _), raw in zip(whole, read, strict=True)]

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
            raw = self._parsed(0, line)
            self._check(0, raw)
            return self._entry(0, raw)
        return None

    def _parsed(self, number: int, line: bytes) -> Any:
        try:
            return json.loads(line.decode())
        except (ValueError, RecursionError) as error:
            raise self._damaged(number, str(error)) from None

    def _check(self, number: int, raw: Any) -> None:
        """Raise ``CouldNotJudge`` unless it is as the schema of a line says."""
        if isinstance(raw, dict) and raw.get("schema", SCHEMA) != SCHEMA:
            raise self._damaged(number, "another schema")
        problem = None if conforms(_LINES)([raw]) else next(validator(_LINES).iter_errors([raw]), None)
        if problem is not None:
            where = ".".join(map(str, list(problem.absolute_path)[1:]))
            raise self._damaged(number, f"{where + ': ' if where else ''}{problem.message[:120]}")

    def _entry(self, number: int, raw: dict[str, Any]) -> Entry:
        for key, types in _OF_ACTION.get(raw["action"], {}).items():
            if not isinstance(raw.get(key), types):
                raise self._damaged(number, f"{raw['action']} without '{key}', or not as it is there")
        try:
            at = _seconds(raw.pop("time"))
        except ValueError as error:
            raise self._damaged(number, str(error)) from None
        del raw["schema"]
        return Entry(raw.pop("action"), raw.pop("outcome"), at, raw.pop("id"), raw.pop("node", None), raw)

    def _damaged(self, number: int, why: str) -> CouldNotJudge:
        return CouldNotJudge(
            f"{self.path}:{number}: not a line of this log ({why}); fix it, or move the file away: {self._without}"
        )

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
