"""The glossary is one screen, and the same in the manual and at the end of each page."""

from __future__ import annotations

import html
import re
from pathlib import Path

from nearfar.base.verdicts import VERDICTS
from tests.conftest import CHECKOUT

MANUAL = (CHECKOUT / "docs/glossary.md").read_text(encoding="utf-8")
ROWS = [row for row in re.findall(r"^\| (.+) \| (.+) \|$", MANUAL, re.MULTILINE) if row[0] != "word"]
TEMPLATES = CHECKOUT / "nearfar/report/templates"


def as_markdown(text: str) -> str:
    text = re.sub(r"</?code>", "`", text)
    return html.unescape(re.sub(r"</?b>", "**", text))


def test_the_page_has_the_manuals_words() -> None:
    page = (TEMPLATES / "words.html").read_text(encoding="utf-8")
    assert [(as_markdown(a), as_markdown(b)) for a, b in re.findall(r"<dt>(.+?)</dt><dd>(.+?)</dd>", page)] == ROWS
    for name in ("page.html", "batch.html"):
        assert '{% include "words.html" %}' in (TEMPLATES / name).read_text(encoding="utf-8"), name


def test_it_is_one_screen_with_every_verdict() -> None:
    assert 25 <= len(ROWS) <= 40
    words = {word for row in ROWS for word in row[0].split(", ")}
    assert len(words) == sum(len(row[0].split(", ")) for row in ROWS), "a word stands twice"
    assert {*VERDICTS, "MODELLED", "not judged"} <= words


def test_pages_and_help_lead_to_it() -> None:
    for name in ("README.md", "docs/README.md", "docs/read-a-page.md", "docs/start.md"):
        assert "glossary.md)" in (CHECKOUT / name).read_text(encoding="utf-8"), name
    assert "docs/glossary.md" in Path(CHECKOUT / "nearfar/commands/validate.py").read_text(encoding="utf-8")
