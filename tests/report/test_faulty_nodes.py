"""Pages of nodes of 0 to 16 GPUs, healthy and with each kind of fault: small, two sheets of paper, and the part in the first sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar import report
from tests.data.runs import faulty_nodes
from tests.report.test_page_size import MOST
from tests.support.browser import browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.mark.parametrize("name", faulty_nodes.SCENARIOS)
def test_a_fault_is_named_on_a_small_page_and_two_sheets(chromium: Any, tmp_path: Path, name: str) -> None:
    page = report.build(faulty_nodes.SCENARIOS[name](tmp_path / "run"))
    assert page.stat().st_size <= MOST
    part = name.partition("-")[2].replace("_", ":")
    first = report.summary(page.parent, colour=False).splitlines()[0]
    if part == "healthy":
        assert first.startswith("PASS")
    else:
        assert first.startswith(f"FAIL  What is slow is explained by {part} (")
        assert re.search(r'class="[^"]*\bFAIL\b', page.read_text(encoding="utf-8").partition('<div class="node"')[2])
    opened = chromium.new_page(viewport={"width": 718, "height": 1047})
    opened.goto(page.as_uri())
    printed = opened.pdf(
        format="A4", prefer_css_page_size=True, margin=dict.fromkeys(("top", "bottom", "left", "right"), "10mm")
    )
    opened.close()
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2
