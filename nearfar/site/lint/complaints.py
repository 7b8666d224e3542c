"""What lint has to say: one place of one file, how bad it is, and what to do, in one line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base import SiteFile, SiteFileError, Step, place_in

#: From the worst on. An error is wrong; a warning deserves a look; an info is as it is meant to be, where that is known.
ERROR, WARNING, INFO = LEVELS = ("error", "warning", "info")


@dataclass(frozen=True)
class Complaint:
    """One complaint. ``where`` is set where ``line`` is one of the rendered text; ``rule`` is one of docs/reference/lint.md's."""

    file: Path
    line: int
    level: str
    rule: str
    message: str
    where: str = ""

    def __str__(self) -> str:
        """``file:line: level: message``."""
        return f"{place_in(self.file, self.line, self.where)}: {self.level}: {self.message}"

    def entry(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        entry = {
            "file": str(self.file),
            "line": self.line,
            "level": self.level,
            "rule": self.rule,
            "words": self.message,
        }
        return {**entry, "rendered": True} if self.where else entry


def at(file: SiteFile, level: str, rule: str, message: str, *steps: Step) -> Complaint:
    """A complaint about the part of a file that ``steps`` lead to."""
    error = file.error(message, *steps)
    return Complaint(file.path, error.line or 1, level, rule, message, error.where)


def refused(error: SiteFileError, rule: str) -> Complaint:
    """What the reader of a file refuses."""
    return Complaint(error.path, error.line or 1, ERROR, rule, error.words, error.where)


def sorted_once(complaints: Iterable[Complaint]) -> list[Complaint]:
    """By file, line and level, each once."""
    order = dict.fromkeys(complaints)
    return sorted(order, key=lambda c: (str(c.file), c.line, LEVELS.index(c.level), c.message))


def strict(complaints: Iterable[Complaint]) -> list[Complaint]:
    """With every warning as an error."""
    return [replace(c, level=ERROR) if c.level == WARNING else c for c in complaints]


def summary(complaints: Iterable[Complaint], files: int) -> str:
    """``14 files checked: 2 errors, 1 warning``."""
    counts = dict.fromkeys(LEVELS, 0)
    for complaint in complaints:
        counts[complaint.level] += 1
    counted = [f"{n} {level}{'s' if n != 1 and level != INFO else ''}" for level, n in counts.items() if n]
    return f"{files} file{'s' if files != 1 else ''} checked: {', '.join(counted) or 'no problems'}"
