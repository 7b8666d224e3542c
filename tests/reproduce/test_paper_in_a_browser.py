"""A paper's page in a real browser, wide and on a phone: nothing lies beside the screen, and what agrees with itself says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import cli
from tests.reproduce import made_runs
from tests.support.browser import browser, violations

#: Words that tell the model's figures from agreement, where each of them is to be seen.
SEEN = """() => [...document.querySelectorAll(".beside td.model")].filter(e => e.textContent.trim() && e.getClientRects().length)
  .map(e => e.textContent.trim())"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper")
    run = made_runs.write(folder / "run", "keeneland", {"g0:n1": 0.5}, ["host_device_check", "saturation_check"])
    assert cli.main(["reproduce", "hamilton-sl390", "--run", str(run), "--page", str(folder / "page.html")]) == 0
    return folder / "page.html"


def test_wide_and_on_a_phone(page: Path) -> None:
    with browser() as chromium:
        for width in (1280, 390):
            opened = chromium.new_context(bypass_csp=True, viewport={"width": width, "height": 800}).new_page()
            opened.goto(page.as_uri())
            assert opened.evaluate("document.documentElement.scrollWidth") <= width
            assert opened.evaluate(SEEN) == ["input"] * 4, width
            assert "8 GB/s" in opened.inner_text("body"), "the scale and its unit"
            assert violations(opened) == [], width
