"""What the doctor says of one thing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_FAILED, EXIT_GOOD

OK, PROBLEM, NOT_LOOKED = "OK", "problem", "not looked at"


@dataclass(frozen=True)
class DoctorAnswer:
    """``about``: the thing. ``verdict``: OK, problem, or not looked at. ``remedy``: what to do, where there is something."""

    about: str
    verdict: str
    words: str
    remedy: str | None = None


def ok(about: str, words: str) -> DoctorAnswer:
    """All is well."""
    return DoctorAnswer(about, OK, words)


def problem(about: str, words: str, remedy: str) -> DoctorAnswer:
    """Something is wrong."""
    return DoctorAnswer(about, PROBLEM, words, remedy)


def not_looked(about: str, words: str, remedy: str | None = None) -> DoctorAnswer:
    """It could not be seen."""
    return DoctorAnswer(about, NOT_LOOKED, words, remedy)


def exit_code(answers: Iterable[DoctorAnswer]) -> int:
    """1 where something is wrong, else 3 where something could not be looked at, else 0."""
    verdicts = {answer.verdict for answer in answers}
    if PROBLEM in verdicts:
        return EXIT_FAILED
    return EXIT_COULD_NOT_JUDGE if NOT_LOOKED in verdicts else EXIT_GOOD
