"""The judge's numbers stand in one file, and the page is made of it."""

from __future__ import annotations

import ast

from setup import reference_pages
from tests.conftest import CHECKOUT


def test_the_page_is_made_of_the_numbers() -> None:
    page = CHECKOUT / "docs/reference/thresholds.md"
    again = "the page is older than the numbers: .venv/bin/python setup/reference_pages.py"
    assert page.read_text(encoding="utf-8") == reference_pages.thresholds(), again


def test_each_number_has_a_unit_and_a_reason() -> None:
    rows = [
        line for line in reference_pages.thresholds().splitlines() if line.startswith("| ") and "| why |" not in line
    ]
    assert len(rows) > 20
    assert not [row for row in rows if any(not cell.strip() for cell in row.strip("|").split(" | "))]


def test_no_number_hides_in_the_tuning() -> None:
    """Constants of the modules that make limits: none is a bare number that decides a verdict."""
    for name in ("limits", "budget"):
        tree = ast.parse((CHECKOUT / f"nearfar/history/tuning/{name}.py").read_text(encoding="utf-8"))
        numbers = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
        assert numbers == [], numbers
