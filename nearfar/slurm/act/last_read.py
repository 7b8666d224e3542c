"""When ``act`` has read a results directory last: nothing that came after it is too old to be seen."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, write_atomically

from .options import ActOptions

_SCHEMA = "nearfar-act-read/1"
#: So many names of sweeps are kept of each results directory, the newest: a site removes the old ones first.
_SWEEPS = 20


class LastRead:
    """``read.json`` beside the log: for each results directory and system the time until which all of it has been read, the newest
    sweeps that were in it, and the directory's inode."""

    def __init__(self, state: Path) -> None:
        self._path = state / "read.json"

    def of(self, options: ActOptions) -> float | None:
        """Seconds since 1970; None where it was never read, or the file cannot be."""
        found = self._kept("until").get(_key(options))
        return found if isinstance(found, (int, float)) else None

    def check_mounted(self, options: ActOptions) -> None:
        """Raise ``CouldNotJudge`` where another directory is in the place of the results directory that was read, by its inode, and
        none of that one's sweeps is in it: its file system is not mounted, what has come since is not known, and nothing may be
        taken for read. A directory from which a site has removed all old sweeps is still the same."""
        known = self._kept("sweeps").get(_key(options))
        if options.results is None or not isinstance(known, list) or not known:
            return
        inode = self._kept("directories").get(_key(options))
        if inode is not None and inode == _inode(options.results):
            return
        if not any(os.path.lexists(options.results / str(name)) for name in known):
            raise CouldNotJudge(
                f"{options.results}: no sweep is there of those that were ({known[0]} …): is its file system mounted? "
                f"Where they were removed, remove {self._path} as well"
            )

    def note(self, options: ActOptions, at: float, sweeps: Sequence[str]) -> None:
        """Write down that all that came until ``at`` has been read, and what was found is in the log; ``sweeps``: those that are
        there, newest first."""
        key = _key(options)
        kept = {
            "until": {**self._kept("until"), key: at},
            "sweeps": {**self._kept("sweeps"), key: list(sweeps[:_SWEEPS])},
            "directories": {**self._kept("directories"), key: _inode(options.results)},
        }
        text = json.dumps({"schema": _SCHEMA, **kept}, indent=1) + "\n"
        write_atomically(self._path, text, "name another --state DIR")

    @property
    def at(self) -> float | None:
        """When ``act`` ran last here; None where it never did."""
        try:
            return self._path.stat().st_mtime
        except OSError:
            return None

    def _kept(self, what: str) -> dict[str, Any]:
        try:
            raw = json.loads(self._path.read_text(encoding="utf-8"))
            return dict(raw.get(what, {})) if raw["schema"] == _SCHEMA else {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, CouldNotJudge):
            return {}


def _inode(directory: Path | None) -> int | None:
    """The number of a directory in its file system; None where there is none."""
    try:
        return None if directory is None else directory.stat().st_ino
    except OSError:
        return None


def _key(options: ActOptions) -> str:
    return f"{options.policy.system}:{options.results}"
