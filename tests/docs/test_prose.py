"""The manual keeps its budget of words and short sentences; pages, help and messages use the words of one list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

CHAPTERS = sorted((CHECKOUT / "docs").glob("*.md"))
STUDIES = sorted((CHECKOUT / "benchmarks/studies").glob("*.md"))
WRITTEN = [CHECKOUT / "README.md", *CHAPTERS]
#: Hand-written words at most: the README, the chapters together, the studies together.
BUDGETS = {"README.md": ([CHECKOUT / "README.md"], 500), "docs": (CHAPTERS, 16_500), "studies": (STUDIES, 15_000)}
#: The mean of a page's longest tenth of sentences, in words, at most.
LONGEST_TENTH = 28
#: What is not written, and what is written instead.
AVOIDED = {
    r"look(?:s|ed|ing)? (?:at )?(?:\w+ )?again|\blooks\b(?! like)": "measured again",
    r"\bvisits?\b|reached again": "sample, round, repeated within N %",
    r"\brows? of (?:the )?references": "reference entry",
    r"\b(?:told|says|said)\b": "reports, prints, lists",
    r"\bits word\b|\bthe word\b": "the verdict",
    r"\bown past\b": "the node's history, baseline",
    r"software stamps?": "software versions",
    r"\bslack\b": "tolerance",
    r"\bat best\b": "upper bound, ≤",
    r"what is modelled": "modelled results",
    r"not asked": "not run",
    r"counts? for nothing": "does not affect the verdict",
    r"disturbed by others": "disturbed by other load",
    r"\ba person\b": "an administrator, you",
    r"\b(?:house|shelf|shelves|living|alive)\b": "(a word of the field)",
}
_BLOCK = re.compile(r"^```.*?^```|^(?: {4}.*\n)+|<!--.*?-->", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", BUDGETS)
def test_budget_of_words(name: str) -> None:
    pages, most = BUDGETS[name]
    counts = {page.name: len(page.read_text(encoding="utf-8").split()) for page in pages}
    assert sum(counts.values()) <= most, f"{sum(counts.values())} words, {most} at most: {counts}"


def test_every_other_page_is_generated() -> None:
    folders = {page.parent.name for page in (CHECKOUT / "docs").rglob("*.md")}
    assert folders <= {"docs", "reference", "studies"}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    longest = sorted(sentences(page.read_text(encoding="utf-8")), key=_length, reverse=True)
    tenth = longest[: max(1, len(longest) // 10)]
    mean = sum(map(_length, tenth)) / len(tenth)
    assert mean <= LONGEST_TENTH, (
        f"{page.name}: mean of {mean:.1f} words, {LONGEST_TENTH} at most; for example: {tenth[0]}"
    )


@pytest.mark.parametrize("page", [*WRITTEN, *STUDIES], ids=lambda page: page.name)
def test_pages_avoid_private_words(page: Path) -> None:
    assert not avoided(_BLOCK.sub("", page.read_text(encoding="utf-8"))), page.name


def test_help_and_messages_avoid_private_words() -> None:
    """Help, messages and errors are literals of the code."""
    wrong = []
    for file in sorted([*(CHECKOUT / "nearfar").rglob("*.py"), *(CHECKOUT / "checks").rglob("*.py")]):
        for line, text in _literals(file):
            wrong += [f"{file.relative_to(CHECKOUT)}:{line}: {problem}" for problem in avoided(text)]
    assert not wrong, "\n".join(wrong)


def test_page_templates_avoid_private_words() -> None:
    for file in (CHECKOUT / "nearfar/report/templates").rglob("*.html"):
        shown = re.sub(r"\{[{%#].*?[}%#]\}", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not avoided(shown), file.name


def test_sentences_are_found() -> None:
    text = "# A title\n\nOne two. Three `a b. c` four!\n\n- five\n- six [seven](x.md). Eight\n\n```sh\nno\n```\n| a | b c |\n|---|---|\n"
    assert list(sentences(text)) == [
        "A title",
        "One two.",
        "Three code four!",
        "five",
        "six seven.",
        "Eight",
        "a",
        "b c",
    ]
    assert avoided("It looks like this, and tells nothing") == []
    assert avoided("their own past") and avoided("looked at once again")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page: its code left out, an item or a cell of a table at least one each."""
    plain = re.sub(r"`[^`\n]+`", "code", _BLOCK.sub("\n\n", text))
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    plain = re.sub(r"^\|[-:| ]+\|$", "", plain, flags=re.MULTILINE)
    plain = re.sub(r"^(?:#+|[-*]|\d+\.) +", "\n\n", plain, flags=re.MULTILINE)
    for part in re.split(r"\n\s*\n|\|", plain):
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(part.split())):
            if re.search(r"\w", sentence):
                yield sentence


def avoided(text: str) -> list[str]:
    """What of a text is not written, with its place and what to write."""
    return [
        f"…{' '.join(text[max(0, match.start() - 30) : match.end() + 20].split())}…: write {instead}"
        for pattern, instead in AVOIDED.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]


def _length(sentence: str) -> int:
    return len(sentence.split())


@cache
def _literals(file: Path) -> tuple[tuple[int, str], ...]:
    """String literals of several words that are no docstrings, no SQL and no value of a schema, with their lines."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    docstrings = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    return tuple(
        (node.lineno, re.sub(r"\{[^{}]*\}", "{}", node.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        if " " in node.value and not re.search(r"\b(?:SELECT|UPDATE|DELETE|CREATE|AND)\b", node.value)
    )
