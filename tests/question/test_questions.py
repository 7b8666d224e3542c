"""The questions of the pack: readable without ReFrame, consistent with each other, each with its class in ``checks/``."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nearfar.question import LEVELS, check_names, check_rank, find, named, questions
from nearfar.run.expected_cases import check_file
from tests.conftest import CHECKOUT


def test_they_are_read_without_reframe() -> None:
    """Whatever imports ReFrame is told that there is none."""
    code = "import sys; sys.modules['reframe'] = None; from nearfar.question import questions; print(len(questions()))"
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(len(questions())), done.stderr


def test_every_question_is_in_the_catalogue_under_its_files_name() -> None:
    files = sorted(path.stem for path in (CHECKOUT / "nearfar/question").glob("*_check.py"))
    assert files == check_names() == sorted(question.name for question in questions())
    assert [title for title, count in Counter(q.title for q in questions()).items() if count > 1] == []
    assert {level for question in questions() for level in question.levels} == set(LEVELS)
    assert find("host_device_check@repeat2") is named("host_device_check")
    assert check_rank("topology_check") < check_rank("quick_check@repeat1") < check_rank("a_check_of_old")


def test_each_has_its_class_in_a_file_of_its_own() -> None:
    """ReFrame takes every file of ``checks/`` by itself, and none of the directories below."""
    files = [path for path in (CHECKOUT / "checks").rglob("*_check.py") if path.parent.name != "base"]
    assert sorted(files) == sorted(check_file(question) for question in questions())
    for file in files:
        (made,) = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)]
        assert made.name == file.stem and f'question = named("{file.stem}")' in file.read_text(), file


def code_that_names_checks(file: Path) -> Iterator[str]:
    """Constants, names and attributes that are a check's name; text around a name is no choice."""
    names = set(check_names())
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        said = (getattr(node, key, None) for key in ("value", "id", "attr", "name", "module"))
        for word in said:
            if isinstance(word, str) and names & set(word.split(".")):
                yield f"{file.relative_to(CHECKOUT)}:{getattr(node, 'lineno', 1)}: {word}"


def test_nothing_else_chooses_by_the_name_of_a_check() -> None:
    files = [path for path in (CHECKOUT / "nearfar").rglob("*.py") if path.parent.name != "question"]
    assert [line for file in files for line in code_that_names_checks(file)] == []
