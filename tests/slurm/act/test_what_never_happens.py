"""docs/reference/slurm-act.md: each line of what never happens names tests that there are."""

from __future__ import annotations

import ast
import re

import pytest

from tests.conftest import CHECKOUT

PAGE = (CHECKOUT / "docs/reference/slurm-act.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\* .*$", PAGE.partition("## What never happens\n")[2].partition("\n## ")[0], re.MULTILINE)


def test_there_are_ten() -> None:
    assert len(LINES) == 10


@pytest.mark.parametrize("line", LINES)
def test_its_tests_are_there(line: str) -> None:
    [named] = re.findall(r"<!-- (.+?) -->", line)
    for name in named.split():
        file, _, test = name.partition("::")
        tree = ast.parse((CHECKOUT / "tests/slurm" / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
