"""No sentence has a figure that reads as the bound it missed: "46.2, expected at least 46.2"."""

from __future__ import annotations

import pytest

from nearfar.verdict.figure_verdict import of_figure
from nearfar.verdict.references import Reference, more_digits
from tests.verdict.test_references import NODE, metric

LINK = Reference(50.0, -0.0756, None, "GB/s", "tuned", "a test")  # its lowest good value is 46.22
SIBLINGS = Reference(
    46.24, None, None, "GB/s", "siblings", "a test", 46.22, "at least 46.2 GB/s (siblings: 46.2 GB/s, a test)"
)


@pytest.mark.parametrize(
    ("value", "reference", "told"),
    [
        (46.19, LINK, ": 46.19 GB/s, expected at least 46.22 GB/s (tuned: 50.0 GB/s"),
        (46.2199, LINK, ": 46.2199 GB/s, expected at least 46.2200 GB/s (tuned"),
        (40.0, LINK, ": 40.0 GB/s, expected at least 46.2 GB/s (tuned"),
        (46.19, SIBLINGS, ": 46.19 GB/s, expected at least 46.22 GB/s (siblings: 46.2 GB/s"),
    ],
)
def test_figure_and_bound_have_the_digits_that_tell_them_apart(value: float, reference: Reference, told: str) -> None:
    figure = metric("n0:g0", value)
    finding = of_figure(figure, reference, None, False, NODE)
    assert finding.code == ("figure.beyond_usual" if reference is SIBLINGS else "figure.beyond_reference")
    assert told in finding.reason


def test_as_many_digits_as_needed_and_none_for_equal_ones() -> None:
    assert more_digits([46.19], [46.22], "GB/s") == 1
    assert more_digits([46.2], [46.2], "GB/s") == 0
    assert more_digits([31.2, 46.19], [None, 46.22], "GB/s") == 1
    assert more_digits([0.9499], [0.95], "1") == 1
