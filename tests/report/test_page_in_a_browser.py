"""Pages in a real browser: axe-core finds nothing, nothing is cut off, no text lies over text.

Screenshots of each are left in build/screenshots/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar.report import page as pages
from nearfar.report.blocks import Shown, shown_page
from nearfar.report.explanations import Explained
from nearfar.verdict import run_directory
from tests.conftest import CHECKOUT
from tests.data.runs import large_nodes, small, synthetic
from tests.support.browser import browser, violations

RUNS = {"one": synthetic.one_gpu, "fail": synthetic.broken, "two": small.write, "sixteen": large_nodes.sixteen_gpus}
LOOKS = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": {"viewport": {"width": 390, "height": 800}}}

#: Boxes of the drawing whose words do not fit, or that lie over a box beside them.
BAD_BOXES = """() => {
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const boxes = [...document.querySelectorAll(".node :is(.numa, .gpu, .nic, .switch, .fabric, .lane, .package-link)")];
  const places = boxes.map(box => box.getBoundingClientRect());
  const bad = boxes.filter(box => box.scrollWidth > box.clientWidth + 8).map(box => "does not fit: " + box.textContent);
  boxes.forEach((box, i) => boxes.slice(i + 1).forEach((other, j) => {
    if (meet(places[i], places[i + 1 + j])) bad.push(box.textContent + " over " + other.textContent);
  }));
  return bad;
}"""

#: Maps that do not fit into the page.
TOO_WIDE = """() => [...document.querySelectorAll(".wide:has(.compact)")].filter(e => e.scrollWidth > e.clientWidth)
  .map(e => e.ariaLabel)"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each run's page. What explains slow figures takes longer than a test may, and is a table like others: it is left out."""
    place = tmp_path_factory.mktemp("pages")
    found = {}
    for name, write in RUNS.items():
        run = run_directory.read(write(place / name))
        found[name] = place / name / "index.html"
        found[name].write_text(
            pages.render(run, {node.folder.name: Explained() for node in run.nodes}), encoding="utf-8"
        )
    return found


def shown(chromium: Any, file: Path, look: str) -> Any:
    settings = {"viewport": {"width": 1280, "height": 900}, **LOOKS.get(look, {})}
    opened = chromium.new_context(bypass_csp=True, **settings).new_page()
    if look == "print":
        opened.emulate_media(media="print")
    opened.goto(file.as_uri())
    return opened


def keep(opened: Any, name: str) -> None:
    folder = CHECKOUT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    opened.screenshot(path=folder / f"{name}.png", full_page=True)


@pytest.mark.parametrize("name", RUNS)
def test_a_page_in_light_and_dark(chromium: Any, files: dict[str, Path], name: str) -> None:
    for look in ("light", "dark") if name == "fail" else ("light",):
        opened = shown(chromium, files[name], look)
        keep(opened, f"{name}-{look}")
        assert violations(opened) == [], look
        assert opened.evaluate(BAD_BOXES) == []
        assert opened.evaluate("document.documentElement.scrollWidth") <= 1280
        assert opened.evaluate(TOO_WIDE) == []
        opened.context.close()


@pytest.mark.parametrize("name", ["fail", "sixteen"])
def test_a_page_on_a_phone_and_on_paper(chromium: Any, files: dict[str, Path], name: str) -> None:
    opened = shown(chromium, files[name], "phone")
    keep(opened, f"{name}-phone")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390, "wider than the phone"
    assert opened.evaluate(BAD_BOXES) == []
    opened.context.close()
    opened = shown(chromium, files[name], "print")
    keep(opened, f"{name}-print")
    # Paper has no sideways: nothing is cut off.
    assert (
        opened.evaluate(
            "[...document.querySelectorAll('.wide')].filter(e => getComputedStyle(e).overflowX != 'visible').length"
        )
        == 0
    )
    opened.context.close()


def test_a_long_checksum_fits_a_phone(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "record.html").write_text(shown_page(Shown("Delivery", ("ok",), (), made=f"(SHA-256 {'0' * 64})")))
    opened = shown(chromium, tmp_path / "record.html", "phone")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390, "wider than the phone"
    opened.context.close()


@pytest.mark.parametrize("name", RUNS)
def test_two_sheets_of_paper_and_the_rest_on_request(chromium: Any, files: dict[str, Path], name: str) -> None:
    opened = shown(chromium, files[name], "light")
    folder = CHECKOUT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    sheets, widths = {}, {}
    for place, width in (("", 718), ("#all", 1047)):  # A4, upright and across
        opened.set_viewport_size({"width": width, "height": 1765 - width})
        opened.goto(files[name].as_uri() + place)
        margin = dict.fromkeys(("top", "bottom", "left", "right"), "10mm")
        path = folder / f"{name}-{place.strip('#') or 'paper'}.pdf"
        printed = opened.pdf(path=path, format="A4", prefer_css_page_size=True, margin=margin)
        opened.emulate_media(media="print")
        widths[place] = opened.evaluate("document.documentElement.scrollWidth")
        sheets[place] = len(re.findall(rb"/Type\s*/Page\b", printed))
    opened.context.close()
    assert 1 <= sheets[""] <= 2 < sheets["#all"], sheets
    assert widths == {"": 718, "#all": 1047}, "wider than the sheet, so all would be printed smaller"


def test_keys_alone_reach_the_reasons_and_what_is_folded(chromium: Any, files: dict[str, Path]) -> None:
    opened = shown(chromium, files["fail"], "light")
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.className") == "skip"
    assert opened.evaluate("document.activeElement.getBoundingClientRect().left") >= 0, "seen while it has the focus"
    for _ in range(4):
        opened.keyboard.press("Tab")
        if opened.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    was = opened.evaluate("document.activeElement.parentElement.open")
    opened.keyboard.press("Enter")
    assert opened.evaluate("document.activeElement.parentElement.open") != was
    opened.context.close()


@pytest.mark.parametrize("name", RUNS)
def test_a_page_is_small(files: dict[str, Path], name: str) -> None:
    assert files[name].stat().st_size < 500_000
