"""Who holds a node's lock, in words: the process behind a listening UNIX socket."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .text import user_name

#: Letters of a command that are shown.
_SHOWN = 60


@dataclass(frozen=True)
class Holder:
    """The process that listens, as the kernel says. ``pid`` 0: it cannot be seen from here."""

    pid: int = 0
    uid: int | None = None

    @property
    def words(self) -> str:
        """Who it is, what it runs and since when: as much of it as this user may see."""
        text = f"pid {self.pid}" if self.pid else "a process that cannot be seen from here"
        text += "" if self.uid is None else f" of user {user_name(self.uid)}"
        command, since = _command(self.pid), _since(self.pid)
        return f"{text}{f', `{command}`' if command else ''}{f', since {since}' if since else ''}"


def of(line: socket.socket) -> Holder:
    """Who listens at the other end of a connection."""
    pid, uid, _ = struct.unpack("iII", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII")))
    return Holder(pid, uid)


def _command(pid: int) -> str:
    """What the process runs, short and printable: it is another user's word. Empty where it may not be read."""
    try:
        text = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
    shown = " ".join(_own_words(text.rstrip("\0").split("\0")))
    shown = "".join(letter if letter.isprintable() and letter != "`" else "?" for letter in shown)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"


#: What starts a program in its stead.
_SUPERVISORS = (["nearfar.base.supervise"], ["nearfar.verdict.look_again"])


def _own_words(argv: Sequence[str]) -> list[str]:
    """A command as a person types it: without Python, and without the supervisor of a program."""
    first, *rest = argv
    if os.path.basename(first).startswith("python"):
        while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
            rest = rest[1:]
        if rest[:1] == ["-m"] and rest[1:2] in _SUPERVISORS and "--" in rest[:-1]:
            return _own_words(rest[rest.index("--") + 1 :])
        if rest and rest[0] == "-m":
            return rest[1:]
        if rest and rest[0] != "-c":
            first, *rest = rest
    name = os.path.basename(first)
    return ["nearfar" if name == "run_nearfar.py" else name, *rest]  # ./validate starts it by that file


def _since(pid: int) -> str:
    """When the process began, in local time, with the day unless it is today's; empty where it cannot be read."""
    try:
        # What follows the name in brackets, which may hold anything, begins with the third field; the start is the 22nd.
        ticks = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
        up = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return ""
    began = time.localtime(time.time() - up + ticks / os.sysconf("SC_CLK_TCK"))
    today = began[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", began)
