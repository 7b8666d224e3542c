"""Pages of nodes of 0 to 16 GPUs, healthy and with each kind of fault: small, two sheets of paper, and the part in the first sentence."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar import report
from tests.data.runs import faulty_nodes
from tests.report.test_page_size import MOST
from tests.support.browser import browser

#: What a page has to say of each fault: its first sentence, what to inspect, and the mark of the part in the drawing.
SAID = {
    "switch:0000:81:00.0": ("The uplink of PCIe bridge 0000:81:00.0 above GPU 8 and GPU 9 runs at half speed (12.4 of 24.7 GB/s).",
                            "/sys/bus/pci/devices/0000:81:00.0/current_link_*", 'class="switch FAIL"'),
    "g0.link": ("GPU 0's PCIe link runs at half speed (12.3 of 24.", "then reseat or replace GPU 0 (0000:", "lane FAIL cause"),
    "p0-p1.link": ("The link between packages 0 and 1 runs at half speed (30.", "between packages 0 and 1 with a healthy node's",
                   'class="package-link FAIL"'),
    "n0.memory": ("The memory of NUMA node 0 runs at a quarter of its speed (37.", "check the DIMMs of NUMA node 0",
                  'class="numa FAIL"'),
}  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.mark.parametrize("name", faulty_nodes.SCENARIOS)
def test_a_fault_is_named_on_a_small_page_and_two_sheets(chromium: Any, tmp_path: Path, name: str) -> None:
    page = report.build(faulty_nodes.SCENARIOS[name](tmp_path / "run"))
    assert page.stat().st_size <= MOST
    part = name.partition("-")[2].replace("_", ":")
    lines = report.summary(page.parent, colour=False).splitlines()
    source = page.read_text(encoding="utf-8")
    drawing = source.partition('<div class="node"')[2]
    if part == "healthy":
        assert lines[0].startswith("PASS") and " FAIL" not in drawing.partition("</main>")[0].partition("<table")[0]
    else:
        sentence, inspect, mark = SAID[part]
        assert lines[0].startswith(f"FAIL  {sentence}")
        assert [line for line in lines if line.startswith("next  ") and inspect in line]
        assert inspect in re.sub("<[^>]*>", "", html.unescape(source)) and mark in drawing
        if part.startswith("p0"):
            assert "package link ✕</span><span>→\xa030." in drawing
        # What is slow because of the bridge is marked less than the bridge.
        assert drawing.count("FAIL follows") == (4 if part.startswith("switch") else 0)
    opened = chromium.new_page(viewport={"width": 718, "height": 1047})
    opened.goto(page.as_uri())
    printed = opened.pdf(
        format="A4", prefer_css_page_size=True, margin=dict.fromkeys(("top", "bottom", "left", "right"), "10mm")
    )
    opened.close()
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2
