"""The model's column: which of its figures agree with themselves, and which are compared."""

from __future__ import annotations

import pytest

from nearfar.reproduce import beside, load_paper, words
from tests.conftest import CHECKOUT

SITE = [CHECKOUT / "site"]


def model_words(paper: str, number: int) -> dict[str, tuple[str, str]]:
    """The model's figure and the words beside it, by the figure's name."""
    row = next(each for each in beside(load_paper(paper, SITE), SITE) if each.row.id == number)
    of = row.row.unit
    return {each.published.name: (words.modelled(each, of), words.model(each, of)) for each in row.figures}


def test_an_input_that_stands_elsewhere_is_compared() -> None:
    # Table V's one rank, beside table IV's one GPU, of which the model was made.
    assert model_words("joubert2019", 46)["H2D, 1 rank"] == ("68.64", "as published, another input")
    assert model_words("joubert2019", 46)["both ways, 1 rank"] == ("128.98", "as published, another input")
    assert model_words("joubert2019", 45)["H2D, 1 rank"] == ("45.93", "input")
    assert model_words("meredith2012", 23)["PCIe"] == ("5.70", "+14.0 %, another input")
    assert {said for _, said in model_words("joubert2019", 44).values()} == {"input"}


def test_what_is_only_at_best_agrees_with_nothing() -> None:
    # STREAM on a GPU beside its memory's nominal rate, within the 10 % that the source's trials vary by.
    assert model_words("joubert2019", 42)["triad"] == ("900.0", "+8.3 %, nominal")


def test_percent_differ_by_points() -> None:
    assert model_words("joubert2019", 49) == {"six GPUs, both directions at once": ("45", "1.0 points less")}


@pytest.mark.parametrize("paper", ["hamilton-sl390", "joubert2019", "meredith2012", "pop-gpu-affinity", "spafford2011"])
def test_an_input_is_the_published_figure(paper: str) -> None:
    for row in beside(load_paper(paper, SITE), SITE):
        for figure in row.figures:
            if figure.basis == "input" and figure.published.value is not None:
                assert figure.modelled == pytest.approx(figure.published.value), figure.published.name
                assert figure.difference is None
