"""Every relative link of the manual and of the README files leads to a file that there is, and to a heading of it; every page that the
code names is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

PAGES = sorted([
    *CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md"), *(CHECKOUT / "benchmarks/studies").glob("*.md"),
    CHECKOUT / "src/README.md", CHECKOUT / "nearfar/README.md",
])  # fmt: skip
_CODE = re.compile(r"^```.*?^```|^(?: {4}[^\n]*\n)+|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def prose(page: Path) -> str:
    """A page without its code, in which brackets and parentheses are no links."""
    return _CODE.sub(lambda code: "`" if code[0].startswith("`") else "\n", page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = found.setdefault(name, 0)
        found[name] += 1
        names.add(f"{name}-{count}" if count else name)
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in _LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = page if not path else (page.parent / path).resolve()
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    assert not wrong, f"{page.relative_to(CHECKOUT)}: links that lead nowhere: {', '.join(wrong)}"


def test_links_are_found() -> None:
    assert len(_LINK.findall(prose(CHECKOUT / "docs/README.md"))) > 30
    assert "whats-in-a-name" not in anchors(CHECKOUT / "README.md") and "two-commands" in anchors(
        CHECKOUT / "README.md"
    )


def test_pages_that_the_code_names_are_there() -> None:
    gone = []
    for folder, suffix in (
        ("nearfar", "*.py"),
        ("checks", "*.py"),
        ("setup", "*.py"),
        ("site", "*.yaml"),
        ("src", "*.cpp"),
    ):
        for file in sorted((CHECKOUT / folder).rglob(suffix)):
            for name in re.findall(r"\bdocs/[\w/.-]+\.md\b", file.read_text(encoding="utf-8")):
                if not (CHECKOUT / name).exists():
                    gone.append(f"{file.relative_to(CHECKOUT)}: {name}")
    assert not gone, "\n".join(gone)
