"""The judge's numbers stand in one file, each with its unit and reason."""

from __future__ import annotations

import ast

from tests.conftest import CHECKOUT


def test_each_number_has_a_unit_and_a_reason() -> None:
    page = (CHECKOUT / "docs/reference/thresholds.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ") and "| why |" not in line]
    assert len(rows) > 20
    assert not [row for row in rows if any(not cell.strip() for cell in row.strip("|").split(" | "))]


def test_no_number_hides_in_the_tuning() -> None:
    """Constants of the module that makes limits: none is a bare number that decides a verdict."""
    tree = ast.parse((CHECKOUT / "nearfar/history/tuning/limits.py").read_text(encoding="utf-8"))
    numbers = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
    assert numbers == [], numbers
