"""The ten questions, in the order in which one repairs what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from nearfar.base import NearfarError
from nearfar.slurm.install import PARTS

from . import about_files, about_slurm
from .installation import OK, PROBLEM, DoctorAnswer, Installation, Problem


class _Question(NamedTuple):
    about: str
    #: It is asked where one of these parts is installed.
    parts: frozenset[str]
    #: Says in a line that all is well, or raises ``Problem`` or another ``NearfarError``.
    ask: Callable[[Installation], str]
    #: What to type where an error says what is wrong.
    remedy: str


_ALL, _ACT, _NIGHTLY = frozenset(PARTS), frozenset({"act"}), frozenset({"nightly"})
_PING = "scontrol ping"
_ELSEWHERE = f"{_PING}; for another Slurm: nearfar slurm install --slurm-bin DIR --slurm-conf FILE --apply"
_AGAIN = "nearfar slurm install --apply    (without --apply it shows the diff)"
_QUESTIONS = (
    _Question("Slurm", _ALL, about_slurm.reached, _ELSEWHERE),
    _Question("rights of act", _ACT, about_slurm.rights, _PING),
    _Question("site's files", _ALL, about_files.site_files, "nearfar lint"),
    _Question("scripts", _ALL, about_files.scripts, _AGAIN),
    _Question("nightly timer", _NIGHTLY, about_slurm.nightly, "systemctl status nearfar-nightly.timer"),
    _Question("act timer", _ACT, about_slurm.act, "systemctl status nearfar-act.timer"),
    _Question("results", _NIGHTLY | _ACT, about_files.results, "fix the owner or mode of that directory"),
    _Question("health findings", _ACT, about_slurm.findings, _PING),
    _Question("two users", _ACT, about_files.two_users, "nearfar slurm install --act-user root --apply"),
    _Question("slurm.conf", _ALL - _NIGHTLY, about_slurm.conf, _PING),
)  # fmt: skip


def ask_all(installation: Installation) -> Iterator[DoctorAnswer]:
    """The answers as they come, to the questions that concern the installed parts."""
    for question in _QUESTIONS:
        if not question.parts & {*installation.options.what}:
            continue
        try:
            yield DoctorAnswer(question.about, OK, question.ask(installation))
        except Problem as problem:
            yield DoctorAnswer(question.about, PROBLEM, str(problem), problem.remedy)
        except NearfarError as error:
            yield DoctorAnswer(question.about, PROBLEM, str(error).splitlines()[0], question.remedy)
