"""All questions, in the order in which one fixes what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nearfar.base import NearfarError

from . import (
    directories_kept,
    drains_left,
    dry_walk,
    installed_files,
    results_read,
    root_alone,
    site_files_clean,
    slurm_reached,
    slurm_settings,
    those_told,
    timers,
)
from .answer import NOT_LOOKED, OK, PROBLEM, DoctorAnswer, not_looked
from .installed_site import InstalledSite, first_line

_QUESTIONS: tuple[tuple[str, Callable[[InstalledSite], Iterator[DoctorAnswer]]], ...] = (
    ("files", installed_files.ask),
    ("Slurm", slurm_reached.ask),
    ("site's files", site_files_clean.ask),
    ("timers", timers.ask),
    ("directories", directories_kept.ask),
    ("health check as root", root_alone.ask),
    ("slurm.conf", slurm_settings.ask),
    ("results", results_read.ask),
    ("those told", those_told.ask),
    ("drains", drains_left.ask),
    ("dry walk", dry_walk.ask),
)


def ask_all(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """The answers as they come; a question that ends in an error is one that could not be looked at. What is wrong with several things
    is said of the first, and the others are named at the end."""
    causes: dict[str, DoctorAnswer] = {}
    others: dict[str, list[DoctorAnswer]] = {}
    for answer in _answers(site):
        cause = causes.setdefault(answer.words, answer) if answer.verdict != OK else answer
        if cause is answer:
            yield answer
        else:
            others.setdefault(cause.about, []).append(answer)
    for about, these in others.items():
        verdict = PROBLEM if any(each.verdict == PROBLEM for each in these) else NOT_LOOKED
        names = dict.fromkeys(each.about for each in these)
        yield DoctorAnswer(", ".join(names), verdict, f"for the same reason as {about}", f"fix {about} first")


def _answers(site: InstalledSite) -> Iterator[DoctorAnswer]:
    for about, question in _QUESTIONS:
        try:
            yield from question(site)
        except NearfarError as error:
            yield not_looked(about, first_line(error))
