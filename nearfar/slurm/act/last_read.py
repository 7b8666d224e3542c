"""When ``act`` has read a results directory last: nothing that came after it is too old to be seen."""

from __future__ import annotations

import json
from pathlib import Path

from nearfar.base import CouldNotJudge, write_atomically

from .options import ActOptions

_SCHEMA = "nearfar-act-read/1"


class LastRead:
    """``read.json`` beside the log: for each results directory and system the time until which all of it has been read."""

    def __init__(self, state: Path) -> None:
        self._path = state / "read.json"

    def of(self, options: ActOptions) -> float | None:
        """Seconds since 1970; None where it was never read, or the file cannot be."""
        found = self._times().get(_key(options))
        return found if isinstance(found, (int, float)) else None

    def note(self, options: ActOptions, at: float) -> None:
        """Write down that all that came until ``at`` has been read, and what was found is in the log."""
        times = {**self._times(), _key(options): at}
        text = json.dumps({"schema": _SCHEMA, "until": times}, indent=1) + "\n"
        write_atomically(self._path, text, "name another --state DIR")

    @property
    def at(self) -> float | None:
        """When ``act`` ran last here; None where it never did."""
        try:
            return self._path.stat().st_mtime
        except OSError:
            return None

    def _times(self) -> dict[str, float]:
        try:
            raw = json.loads(self._path.read_text(encoding="utf-8"))
            return dict(raw["until"]) if raw["schema"] == _SCHEMA else {}
        except (OSError, ValueError, KeyError, TypeError, CouldNotJudge):
            return {}


def _key(options: ActOptions) -> str:
    return f"{options.policy.system}:{options.results}"
