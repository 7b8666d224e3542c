"""Student's t beside the tables of textbooks."""

from __future__ import annotations

import pytest

from nearfar.base import student


@pytest.mark.parametrize(
    ("chance", "freedom", "value"), [(0.05, 8, 2.306), (0.05, 1, 12.706), (0.01, 4, 4.604), (0.001, 30, 3.646)]
)
def test_students_t_is_that_of_tables(chance: float, freedom: int, value: float) -> None:
    assert student.quantile(chance, freedom) == pytest.approx(value, abs=2e-3)
    assert student.two_sided(value, freedom) == pytest.approx(chance, rel=2e-3)
    assert student.two_sided(-value, freedom) == student.two_sided(value, freedom)
