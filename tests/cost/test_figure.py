"""The figure and the answer in a program's output."""

from __future__ import annotations

import pytest

from nearfar.base import NearfarError, compiled
from nearfar.cost.figure import answer_in, difference, figure_of_merit

OUTPUT = "step 1: 3.0 GB/s\nstep 2: 4.0 GB/s\nstep 3: 3.5 GB/s\nTotal wall time: 1.5e1 s\n"


def test_without_an_expression_it_is_the_time() -> None:
    figure = figure_of_merit(None, None, None)
    assert figure.read(OUTPUT, 2.5).value == 2.5 and figure.less_is_better
    assert "time of a run, s; less is better" in figure.words


def test_the_group_is_the_number_else_the_first_in_the_match() -> None:
    assert figure_of_merit(r"wall time: (\S+)", None, None).read(OUTPUT, 0).value == 15.0
    assert figure_of_merit(r"wall time: \S+ s", None, None).read(OUTPUT, 0).value == 15.0
    assert figure_of_merit(r"^Total.*", None, None).read(OUTPUT, 0).value == 15.0


@pytest.mark.parametrize(
    "take, value", [("first", 3.0), ("last", 3.5), ("least", 3.0), ("greatest", 4.0), ("sum", 10.5), ("median", 3.5)]
)
def test_which_of_several(take: str, value: float) -> None:
    assert figure_of_merit(r"([\d.]+) GB/s", take, None).read(OUTPUT, 0).value == value


def test_several_without_a_word_are_a_problem_that_names_them() -> None:
    found = figure_of_merit(r"([\d.]+) GB/s", None, None).read(OUTPUT, 0)
    assert found.value is None and "3 figures in its output (3.0, 4.0, 3.5): choose one, --take last" in str(
        found.problem
    )
    assert figure_of_merit(r"x=(\d)", None, None).read("x=3\nx=3\n", 0).value == 3.0


@pytest.mark.parametrize(
    "expression, words",
    [
        (r"no such (\d+)", "matches nothing in its output"),
        (r"(step) 1", "'step 1' holds no number above 0"),
        (r"step ()", "holds no number above 0"),
        (r"step", "'step' holds no number above 0; put ( ) around the number"),
    ],
)
def test_none(expression: str, words: str) -> None:
    found = figure_of_merit(expression, None, None).read(OUTPUT, 0)
    assert found.value is None and words in str(found.problem)


@pytest.mark.parametrize("text", ["0", "-3", "nan", "inf", "1e999", "1,5"])
def test_what_is_no_number_above_nothing(text: str) -> None:
    assert figure_of_merit(r"x=(\S+)", None, None).read(f"x={text}\n", 0).value is None


def test_which_way_is_better() -> None:
    times = (r"Loop time of (\S+)", r"(\S+) s$", r"Elapsed: (\S+)", r"(\S+) s/step", r"(\d+) ms")
    others = (
        r"(\S+) ns/day",
        r"(\S+) GB/s",
        r"GFLOPS: (\S+)",
        r"(\S+) timesteps/s",
        r"(\S+) images per second",
        r"x=(\S+)",
    )
    assert {each: figure_of_merit(each, None, None).less_is_better for each in (*times, *others)} == {
        **dict.fromkeys(times, True), **dict.fromkeys(others, False)
    }  # fmt: skip
    assert not figure_of_merit(r"time (\S+)", None, False).less_is_better


@pytest.mark.parametrize(
    "expression, words",
    [
        ("(", "is not a regular expression: missing ), unterminated subpattern at character 1"),
        ("(a)(b)", "has 2 groups"),
    ],
)
def test_a_wrong_expression(expression: str, words: str) -> None:
    with pytest.raises(NearfarError) as refused:
        figure_of_merit(expression, None, None)
    assert words in str(refused.value)


def test_take_goes_with_an_expression() -> None:
    with pytest.raises(NearfarError):
        figure_of_merit(None, "last", None)


def test_answers() -> None:
    energy = compiled(r"energy (\S+)", "--same")
    assert answer_in("energy -3.25\nother\nenergy 4\n", energy) == "-3.25\n4" and answer_in("nothing", energy) is None
    assert difference({"right": ["-3.25", "-3.25"], "wrong": ["-3.25"]}, 0.0) is None
    assert difference({"right": ["-3.25"], "wrong": ["-3.2500001"]}, 1e-6) is None
    changed = difference({"right": ["-3.25"], "wrong": ["-3.2500001"]}, 0.0)
    assert changed == "the answer changes with the binding: right -3.25; wrong -3.2500001"
    assert "from run to run: right a and b" in str(difference({"right": ["a", "b"], "wrong": ["a"]}, 0.0))
    assert "no answer in the output of wrong" in str(difference({"right": ["a"], "wrong": [None]}, 0.0))
