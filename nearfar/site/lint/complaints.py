"""What lint has to say: one place of one file, how bad it is, and what to do, in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from nearfar.base import NearfarError, SiteFile, SiteFileError, Step, place_in, plural

#: From the worst on. An error is wrong; a warning may be meant; an info is as it is meant to be.
ERROR, WARNING, INFO = LEVELS = ("error", "warning", "info")


class Rule(NamedTuple):
    """A kind of complaint: the levels that it has, and what it finds."""

    levels: tuple[str, ...]
    finds: str


#: Every rule by its name in ``--json``; docs/reference/lint.md is made from this table.
RULES = {
    "yaml": Rule((ERROR,), "A file that is not YAML, a key that occurs twice, a template without its variable."),
    "schema": Rule(
        (ERROR,), "What the JSON schema of the file refuses: unknown keys, wrong types, values out of range."
    ),
    "names": Rule(
        (ERROR, WARNING),
        "A name of something that does not exist: GPU model, node type, application, capacity, reference file.",
    ),
    "unknown-row": Rule((ERROR,), "A reference, or a promised figure of an order, that no check gives."),
    "unit": Rule((ERROR,), "A reference in another unit than its figure."),
    "line-rate": Rule(
        (ERROR, WARNING),
        "A rate above what its link carries; a warning if PCIe packets larger than 256 B could explain it.",
    ),
    "magnitude": Rule((ERROR, WARNING), "A value that no figure of its kind can have: another unit, or a lost digit."),
    "low": Rule((WARNING,), "A value that only a broken path has."),
    "loose": Rule((WARNING,), "A lower bound that a broken path passes."),
    "impossible": Rule(
        (ERROR, WARNING), "Links, memory or rates that no hardware has, or that contradict the GPU model."
    ),
    "bounds": Rule((WARNING,), "Bounds that judge nothing: none, or none on the side where it gets worse."),
    "contradiction": Rule(
        (WARNING,), "Values that contradict each other: far above near, a sum above its parts, an order and its system."
    ),
    "dead": Rule((WARNING,), "References, node types, GPU models and templates that nothing uses."),
    "provenance": Rule((ERROR, WARNING), "A source, date or version that is missing or cannot be right."),
    "expectation": Rule(
        (WARNING,), "An `expect` that asks for less than the GPU model has, or contradicts the node type."
    ),
    "feature": Rule((WARNING,), "A feature that no check requires; GPUs without the feature `gpu`."),
    "act": Rule(
        (ERROR, WARNING),
        "An `act` that `nearfar slurm act` refuses, steps and caps that never apply, an `on_event` program it would not call.",
    ),
    "overlap": Rule((ERROR,), "Hosts or a product that two systems claim."),
    "template": Rule((ERROR,), "A template of launch lines or pages that cannot be rendered."),
    "stray": Rule((WARNING,), "Files and directories that are not read."),
    "unreviewed": Rule((INFO,), "A file that `nearfar detect` wrote and nobody reviewed."),
    "shadow": Rule((INFO,), "A file that takes precedence over another of its name."),
    "not-judged": Rule((INFO,), "A tuned reference of a path that another figure judges: it may be removed."),
}


@dataclass(frozen=True)
class Complaint:
    """One complaint. ``where`` is set where ``line`` is one of the rendered text; ``rule`` is one of ``RULES``."""

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
    counts = Counter(complaint.level for complaint in complaints)
    counted = [plural(n, level, INFO if level == INFO else None) for level in LEVELS if (n := counts[level])]
    return f"{plural(files, 'file')} checked: {', '.join(counted) or 'no problems'}"


def stop_on_errors(complaints: Iterable[Complaint], most: int | None = None) -> None:
    """Raise ``NearfarError`` with the line of each error, at most ``most`` of them (None: all)."""
    errors = [str(c).replace(": error: ", ": ", 1) for c in sorted_once(complaints) if c.level == ERROR]
    if most is not None and len(errors) > most:
        errors[most:] = [f"{len(errors) - most} more errors; nearfar lint shows all"]
    if errors:
        raise NearfarError("\nnearfar: ".join(errors))
