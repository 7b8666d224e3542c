"""What was measured, for a terminal."""

from __future__ import annotations

from nearfar.base import columns, plural, statistics

from . import words
from .measured import Measured, SchemeRuns
from .words import Subject


def text(measured: Measured, subject: Subject) -> str:
    """The answer first, then a table, the bindings in effect, and what to do next as the last line."""
    page = [words.answer(measured)]
    if (against := words.against(measured)) is not None:
        page.append(against)
    page += [
        "",
        f"program  {subject.words}",
        f"figure   {measured.plan.figure.words}",
        f"ended    {measured.ended}, after {measured.seconds:.0f} s",
    ]
    page += ["", *columns(_table(measured), right=(1, 2, 3, 4))]
    if any(scheme.bindings for scheme in measured.schemes):
        page += ["", "binding in effect"]
    for scheme in measured.schemes:
        if scheme.bindings and scheme.same_as is None:
            lines = words.bindings(scheme)
            page += [f"  {scheme.name}", *(f"    {line}" for line in lines)]
    notes = words.notes(measured)
    page += ["", *notes] if notes else []
    page += ["", words.next_step(measured, subject)]
    return "\n".join(_plain(line) for line in page)


def _table(measured: Measured) -> list[list[str]]:
    rows = [["scheme", "median", "costs", "95 % interval", "runs", ""]]
    order = [measured.reference, *(scheme for scheme in measured.schemes if scheme is not measured.reference)]
    return rows + [_row(measured, scheme) for scheme in order]


def _row(measured: Measured, scheme: SchemeRuns) -> list[str]:
    if scheme.same_as is not None:
        return [scheme.name, "", "", "", "", f"as {scheme.same_as}"]
    values = list(scheme.values.values())
    middle = words.number(statistics.median(values)) if values else "–"
    if scheme is measured.reference:
        return [scheme.name, middle, "", "", str(len(values)), "the others are compared with it"]
    penalty = measured.penalty(scheme)
    if penalty is None:
        return [scheme.name, middle, "–", "–", str(len(values)), "left out" if scheme.left_out else "not run"]
    interval = "–" if penalty.interval is None else words.span(*penalty.interval)
    state = words.state(measured, scheme)
    return [scheme.name, middle, words.percent(penalty.value), interval, str(len(values)), state]


def runs(measured: Measured) -> int:
    """Runs in all, with warm-up."""
    return sum(len(scheme.runs) for scheme in measured.schemes)


def progress(measured: Measured, scheme: str, block: int, seconds: float, left: float | None) -> str:
    """One line for a run that is under way: ``wrong, run 3: 12 s; about 4 min left``."""
    which = "warm-up" if block == 0 else f"run {block}"
    remaining = (
        "" if left is None else f"; about {_about(left)} left, at most {_about(max(0.0, measured.plan.budget))} in all"
    )
    return f"{scheme}, {which}: {seconds:.0f} s ({plural(runs(measured), 'run')} made){remaining}"


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _plain(line: str) -> str:
    """Without control characters: a program's words must not drive the terminal."""
    return "".join(char if char.isprintable() else "�" for char in line)
