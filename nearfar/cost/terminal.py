"""What was measured, for a terminal."""

from __future__ import annotations

from nearfar.base import columns, plural, statistics

from . import words
from .measured import Measured, SchemeRuns
from .words import Subject


def text(found: Measured, subject: Subject) -> str:
    """The answer first, then a table, the bindings in effect, and what to do next as the last line."""
    said = [words.answer(found)]
    if (against := words.against(found)) is not None:
        said.append(against)
    said += [
        "",
        f"program  {subject.words}",
        f"figure   {found.plan.figure.words}",
        f"ended    {found.ended}, after {found.seconds:.0f} s",
    ]
    said += ["", *columns(_table(found), right=(1, 2, 3, 4)), "", "binding in effect"]
    for each in found.schemes:
        if each.bindings and each.same_as is None:
            lines = words.bindings(each)
            said += [f"  {each.name}", *(f"    {line}" for line in lines)]
    notes = words.notes(found)
    said += ["", *notes] if notes else []
    said += ["", words.next_step(found, subject)]
    return "\n".join(_plain(line) for line in said)


def _table(found: Measured) -> list[list[str]]:
    rows = [["scheme", "median", "costs", "95 % interval", "runs", ""]]
    order = [found.reference, *(each for each in found.schemes if each is not found.reference)]
    return rows + [_row(found, each) for each in order]


def _row(found: Measured, each: SchemeRuns) -> list[str]:
    if each.same_as is not None:
        return [each.name, "", "", "", "", f"as {each.same_as}"]
    values = list(each.values.values())
    middle = words.number(statistics.median(values)) if values else "–"
    if each is found.reference:
        return [each.name, middle, "", "", str(len(values)), "the others are compared with it"]
    penalty = found.penalty(each)
    if penalty is None:
        return [each.name, middle, "–", "–", str(len(values)), "left out" if each.left_out else "not run"]
    interval = "–" if penalty.interval is None else words.span(*penalty.interval)
    return [each.name, middle, words.percent(penalty.value), interval, str(len(values)), words.state(found, each)]


def runs(found: Measured) -> int:
    """Runs in all, with warm-up."""
    return sum(len(each.runs) for each in found.schemes)


def progress(found: Measured, scheme: str, block: int, seconds: float, left: float | None) -> str:
    """One line for a run that is under way: ``wrong, run 3: 12 s; about 4 min left``."""
    which = "warm-up" if block == 0 else f"run {block}"
    remaining = (
        "" if left is None else f"; about {_about(left)} left, at most {_about(max(0.0, found.plan.budget))} in all"
    )
    return f"{scheme}, {which}: {seconds:.0f} s ({plural(runs(found), 'run')} made){remaining}"


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _plain(line: str) -> str:
    """Without control characters: a program's words must not drive the terminal."""
    return "".join(char if char.isprintable() else "�" for char in line)
