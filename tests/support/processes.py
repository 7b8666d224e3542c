"""Processes that a running program has started."""

from __future__ import annotations

from pathlib import Path


def _parent(process: Path) -> int:
    return int((process / "stat").read_text().rpartition(")")[2].split()[1])


def tasks_of(program: int) -> list[int]:
    """The processes that a nearfar-copy has started for /xK or --aggressor, by number: below the one of it that measures."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"--as-task" not in (process / "cmdline").read_bytes():
                continue
            above = _parent(process)
            while above not in (0, 1, program):
                above = _parent(Path("/proc") / str(above))
        except (OSError, ValueError):  # gone meanwhile
            continue
        if above == program:
            found.append(int(process.name))
    return sorted(found)
