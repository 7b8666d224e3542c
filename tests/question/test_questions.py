"""The questions of the pack: readable without ReFrame, and consistent with each other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

from nearfar.base.files import CHECKOUT
from nearfar.question import ACCEPT, QUICK, check_rank, made_by, named, questions, reframe_file, title
from nearfar.question.question import LAST


def test_they_are_read_without_reframe() -> None:
    """Whatever imports ReFrame is told that there is none."""
    code = "import sys; sys.modules['reframe'] = None; from nearfar.question import questions; print([q.problem for q in questions()])"
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert set(done.stdout.strip("[]\n").split(", ")) == {"None"}, done.stdout + done.stderr


def test_each_has_a_heading_and_a_place_of_its_own() -> None:
    assert [title for title, count in Counter(q.title for q in questions()).items() if count > 1] == []
    assert [
        order for order, count in Counter(q.order for q in questions()).items() if count > 1 and order != LAST
    ] == []
    assert title("host_device_check") == named("host_device_check").title
    assert check_rank("topology_check") < check_rank("quick_check") < check_rank("a_check_of_old")


def test_a_default_run_has_no_class_that_is_asked_by_name() -> None:
    """ReFrame takes every file of ``checks/`` by itself, and none of the folders below."""
    for question in questions():
        folder = (
            CHECKOUT / "checks" / ("" if ACCEPT in question.levels else "quick" if QUICK in question.levels else "long")
        )
        assert reframe_file(question).parent == folder, question.name
    assert {q.name for q in made_by(str(CHECKOUT / "checks/quick/from_questions.py"))} == {"quick_check"}
