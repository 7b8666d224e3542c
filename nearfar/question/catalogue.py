"""Which questions there are: every file ``*_check.py`` of this folder and of those in it, and the file of ``checks`` that shows each
to ReFrame.

ReFrame drops a check file that it cannot import and still exits 0. A question or a class that is broken therefore stays in
the list, with its problem: what should have run is known, and its absence INDETERMINATE.
"""

from __future__ import annotations

import ast
import traceback
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

from nearfar.base import CHECKOUT, NearfarError, did_you_mean
from nearfar.cells import Cell, Skip
from nearfar.topology import Node

from .question import ACCEPT, LAST, LEVELS, QUICK, Question

_QUESTIONS = Path(__file__).parent
_CHECKS = CHECKOUT / "checks"
#: Below ``checks/``: what only a quick run asks, and what is asked by name alone. ReFrame does not look into them by itself.
_QUICK, _LONG = _CHECKS / "quick", _CHECKS / "long"
#: The file of each folder that makes the classes of questions that need nothing more.
_MADE = "from_questions.py"
_TUPLES = ("levels", "systems", "features", "options")


@cache
def questions() -> tuple[Question, ...]:
    """Every question, by name; one that cannot be asked says so by ``problem``."""
    found = [_read(path) for path in _question_files()]
    names = {question.name for question in found}
    lone = [path for folder in (_CHECKS, _QUICK, _LONG) for path in folder.glob("*_check.py") if path.stem not in names]
    words = "no file of nearfar/question says what it asks: docs/guide/add-a-check.md"
    found += [_broken(path, f"{path}:1: {words}") for path in lone]
    for path in sorted({*_QUESTIONS.glob("*.py"), *_QUESTIONS.glob("*/*.py")} - set(_question_files())):
        if any(
            line.startswith("QUESTION = ") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        ):
            found.append(_broken(path, f"{path}:1: a question's file is called as its check is, which ends in _check"))
    return tuple(sorted(found, key=lambda question: question.name))


def check_names() -> list[str]:
    """The names of all checks, without what they ask: a question's file is called as its check is."""
    classes = (path for folder in (_CHECKS, _QUICK, _LONG) for path in folder.glob("*_check.py"))
    return sorted({path.stem for path in (*_question_files(), *classes)})


def named(name: str) -> Question:
    """A question by its name. Raises ``NearfarError`` where there is none."""
    known = {question.name: question for question in questions()}
    if name not in known:
        raise NearfarError(f"{name}: no such check{did_you_mean(name, list(known))}")
    return known[name]


def asked_at(level: str) -> tuple[Question, ...]:
    """What a level asks, as pages show it. A broken question is part of every level."""
    return tuple(sorted((each for each in questions() if level in each.levels), key=lambda each: check_rank(each.name)))


def askable() -> tuple[Question, ...]:
    """What ``validate`` can be asked for: all but what only a quick run asks."""
    return tuple(question for question in questions() if question.levels != (QUICK,))


def check_rank(name: str) -> tuple[int, str]:
    """Sorts the names of checks as pages show them, and of their folders (``host_device_check@repeat2``); others follow by
    name."""
    own = name.partition("@")[0]
    return next((question.order for question in questions() if question.name == own), LAST), name


def title(name: str) -> str | None:
    """The heading of a check on a page; None for a name that is no check of this version, or whose file cannot be read."""
    return next((question.title for question in questions() if question.name == name and question.readable), None)


def reframe_file(question: Question) -> Path:
    """The file of ``checks/`` that makes ReFrame's class of a question: its own, else the one of its folder."""
    own = (folder / f"{question.name}.py" for folder in (_CHECKS, _QUICK, _LONG))
    folder = _CHECKS if ACCEPT in question.levels else _QUICK if QUICK in question.levels else _LONG
    return next((path for path in own if path.exists()), folder / _MADE)


def made_by(file: str) -> list[Question]:
    """The questions whose class in ReFrame ``file`` makes."""
    return [each for each in questions() if not each.problem and reframe_file(each) == Path(file).resolve()]


def _question_files() -> list[Path]:
    """The files of this room and of its sub-rooms that are called as a check is."""
    return sorted((*_QUESTIONS.glob("*_check.py"), *_QUESTIONS.glob("*/*_check.py")), key=lambda path: path.name)


def _read(path: Path) -> Question:
    try:
        place = path.relative_to(_QUESTIONS).with_suffix("").parts
        found = import_module(".".join((__package__, *place))).QUESTION
        if not isinstance(found, Question):
            raise TypeError("QUESTION is no Question")
        if texts := [key for key in _TUPLES if isinstance(getattr(found, key), str)]:
            raise TypeError(f"{texts[0]} is a tuple of texts, found one text")
        if found.name != path.stem:
            raise ValueError(f"the question of {path.name} is called '{path.stem}', found '{found.name}'")
        if unknown := [level for level in found.levels if level not in LEVELS]:
            raise ValueError(f"no such level: '{unknown[0]}'{did_you_mean(unknown[0], list(LEVELS))}")
    except Exception as error:  # whatever a file does: the others are asked, and this one is missed
        return _broken(path, f"{path}:{_line(path, error)}: {getattr(error, 'msg', None) or error}")
    return replace(found, file=path, problem=_not_python(reframe_file(found)))


def _broken(path: Path, problem: str) -> Question:
    return Question(path.stem, "", "", "", _nothing, levels=LEVELS, file=path, problem=problem)


def _nothing(node: Node) -> tuple[list[Cell], list[Skip]]:
    return [], []


def _line(path: Path, error: Exception) -> int:
    """The line of a file that an error is about; the first one where it names none."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno or 1
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return (lines[-1] if lines else None) or 1


@cache
def _not_python(path: Path) -> str | None:
    """What is wrong with a file that would stop a whole session of ReFrame."""
    try:
        ast.parse(path.read_text(encoding="utf-8", errors="replace"), str(path))
    except OSError as error:
        return f"{path}:1: {error.strerror}"
    except (SyntaxError, ValueError) as error:
        return f"{path}:{getattr(error, 'lineno', None) or 1}: {getattr(error, 'msg', None) or error}"
    return None
