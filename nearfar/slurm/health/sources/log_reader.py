"""The kernel's log since the last look: from ``/dev/kmsg``, and from the journal what that no longer holds."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .log_lines import WANTED, LogLine, from_journal, from_kmsg
from .source import Now

#: Seconds that the journal may take.
JOURNAL = 0.5
#: Bytes of either that are read at most.
_MOST = 256 << 20
_SOURCE_TIME = re.compile(rb'"_SOURCE_MONOTONIC_TIMESTAMP"\s*:\s*"(\d{1,18})"')
_TIME = re.compile(rb'"__MONOTONIC_TIMESTAMP"\s*:\s*"(\d{1,18})"')
_BYTES = re.compile(rb'"MESSAGE"\s*:\s*\[')


@dataclass(frozen=True)
class KernelLog:
    """Lines since the last look that may be the driver's, oldest first. ``sequence`` and ``at``: the place of the last line that
    was there at all, where the next look begins. ``unread``: which part was not read, and why. ``read``: from where."""

    lines: tuple[LogLine, ...]
    sequence: int
    at: float
    unread: tuple[str, ...] = ()
    read: str = ""


class _Journal:
    """The kernel's entries of one boot, newest first, by a ``journalctl`` that has a limit."""

    def __init__(self, boot: str, program: Sequence[str]) -> None:
        self._command = [
            *program, "--quiet", "--no-pager", "--reverse", "--output=json", "_TRANSPORT=kernel", f"_BOOT_ID={boot.replace('-', '')}",
            "--output-fields=MESSAGE,SYSLOG_FACILITY,_SOURCE_MONOTONIC_TIMESTAMP",
        ]  # fmt: skip
        self.why = ""
        self.any = False

    def after(self, after: float, before: float) -> list[LogLine]:
        """Those between two times since boot, in seconds, oldest first. ``why``: why there may be more."""
        found: list[LogLine] = []
        try:
            child = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            self.why = f"journalctl does not start: {error.strerror}"
            return []
        try:
            for record in self._records(child):
                line = from_journal(record) if _wanted(record) else _time_alone(record)
                if line is None:
                    continue
                self.any = True
                if line.at <= after:
                    break
                if line.at < before and line.text:
                    found.append(line)
            else:
                if not self.why and not self.any:
                    self.why = self._complaint(child)
        finally:
            child.kill()
            child.communicate()
        return found[::-1]

    def _records(self, child: subprocess.Popen[bytes]) -> Iterator[bytes]:
        assert child.stdout is not None
        end, text, total = time.monotonic() + JOURNAL, b"", 0
        while True:
            left = end - time.monotonic()
            if left <= 0 or total > _MOST:
                self.why = f"there is more than can be read in {JOURNAL:g} s; the newest was read"
                return
            if not select.select([child.stdout], [], [], left)[0]:
                continue
            part = os.read(child.stdout.fileno(), 1 << 20)
            if not part:
                return
            total += len(part)
            *records, text = (text + part).split(b"\n")
            yield from records

    @staticmethod
    def _complaint(child: subprocess.Popen[bytes]) -> str:
        assert child.stderr is not None
        with suppress(subprocess.TimeoutExpired):
            child.wait(0.2)
        if select.select([child.stderr], [], [], 0)[0]:
            lines = os.read(child.stderr.fileno(), 4096).decode("utf-8", "replace").strip().splitlines()
            if lines:
                return lines[0]
        return "it holds nothing of that boot, or this user may not read it"


def _wanted(record: bytes) -> bool:
    """Whether an entry has to be read whole: those with rubbish in them come as numbers."""
    return any(word in record for word in WANTED) or _BYTES.search(record) is not None


def _time_alone(record: bytes) -> LogLine | None:
    match = _SOURCE_TIME.search(record) or _TIME.search(record)
    return LogLine(int(match[1]) / 1e6, "") if match else None


def read(now: Now, journalctl: Sequence[str] | None = None) -> KernelLog:
    """The lines after the last look's. After a new boot also those of the boot before that came after its last look.

    ``journalctl``: the program and its first arguments; default: the one of the PATH.
    """
    if journalctl is None:
        program = shutil.which("journalctl")
        journalctl = [program] if program else []
    unread: list[str] = []
    earlier = _of_the_boot_before(now, journalctl, unread)
    same = now.same_boot
    last, at = (int(now.past.get("sequence", -1)), float(now.past.get("log_at", 0.0))) if same else (-1, 0.0)
    records, why = _kmsg(now.root / "dev" / "kmsg")
    if records is None:
        lines, problem = _journal(now.boot, journalctl, at, float("inf"))
        if problem:
            unread.append(f"the kernel's log: /dev/kmsg {why}; the journal: {problem}")
        return KernelLog((*earlier, *lines), last, max([at, *(line.at for line in lines)]), tuple(unread), "journal")
    first = records[0].sequence if records else 0
    lines = [line for line in records if line.sequence > last and line.text]
    if records and first > last + 1 and now.past:
        # The ring holds no more: what it lost is the journal's to tell.
        older, problem = _journal(now.boot, journalctl, at, records[0].at)
        lines = [*older, *lines]
        if problem:
            unread.append(
                f"the kernel's log: {first - last - 1} lines since the last look are gone from /dev/kmsg; the journal: {problem}"
            )
    newest = records[-1] if records else LogLine(at, "", last)
    return KernelLog((*earlier, *lines), newest.sequence, newest.at, tuple(unread), "/dev/kmsg")


def _of_the_boot_before(now: Now, journalctl: Sequence[str], unread: list[str]) -> list[LogLine]:
    before = now.past.get("boot")
    if not isinstance(before, str) or not before or now.same_boot:
        return []
    lines, problem = _journal(before, journalctl, float(now.past.get("log_at", 0.0)), float("inf"))
    if problem:
        unread.append(f"the kernel's log between the last look and this boot; the journal: {problem}")
    return lines


def _journal(boot: str | None, journalctl: Sequence[str], after: float, before: float) -> tuple[list[LogLine], str]:
    if not journalctl:
        return [], "journalctl is not installed"
    if not boot:
        return [], "this boot's name cannot be read"
    journal = _Journal(boot, journalctl)
    return journal.after(after, before), journal.why


def _kmsg(path: Path) -> tuple[list[LogLine] | None, str]:
    """Of the records that the kernel's ring still holds what ``from_kmsg`` chooses; None and why where it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    parts, total = [], 0
    try:
        while total < _MOST:
            try:
                part = os.read(handle, 1 << 16)
            except BrokenPipeError:  # overwritten while it was read: the next record follows
                continue
            except BlockingIOError:
                break
            if not part:
                break
            parts.append(part)
            total += len(part)
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    finally:
        os.close(handle)
    return from_kmsg(b"".join(parts)), ""
