"""The commands in README and the manual's chapters work and print what is shown; or a comment says why they are not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.support.console_blocks import Block, blocks, fits, run_page

PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
RUN = [page for page in PAGES if any(not block.not_run for block in blocks(page))]


def content(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_what_a_page_tells_to_type(page: Path, tmp_path: Path) -> None:
    before = content(CHECKOUT / "site")
    for ran in run_page(page, tmp_path):
        place = f"{page.relative_to(CHECKOUT)}:{ran.command.first - 1}: $ {ran.command.text}"
        printed = "\n".join(ran.output)
        assert ran.code == 0, f"{place}\nended with exit code {ran.code}:\n{printed}"
        assert ran.as_shown, (
            f"{place}\nprinted what the page does not show (python -m tests.support.console_blocks {page.relative_to(CHECKOUT)} "
            f"writes it there):\n{printed}"
        )
    assert content(CHECKOUT / "site") == before, "a page writes into the checkout's site/"


def test_readme_and_the_worked_examples_are_run() -> None:
    for name, least in (("README.md", 2), ("docs/start.md", 2), ("docs/describe.md", 9)):
        assert len([block for block in blocks(CHECKOUT / name) if not block.not_run]) >= least, name


def test_how_blocks_are_read(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ one \\\n  more\nits output\n\n$ two\n```\n\n<!-- not run: why -->\n\n    $ three\n    out\n\n"
        "text\n\n    no command\n\n<!-- file: a/b.yaml -->\n```yaml\nkey: 1\n```\n"
    )
    found = blocks(page)
    assert [(block.line, block.not_run, block.file) for block in found] == [
        (2, "", ""),
        (11, "why", ""),
        (20, "", "a/b.yaml"),
    ]
    assert [(c.text, c.shown, c.first, c.last) for c in found[0].commands()] == [
        ("one \\\n  more", ["its output"], 4, 4),
        ("two", [], 7, 6),
    ]
    assert [c.shown for c in found[1].commands()] == [["out"]]


@pytest.mark.parametrize(
    ("shown", "output", "fit"),
    [
        (["a", "b"], ["a", "b "], True),
        (["a"], ["a", "b"], False),
        (["a", "…", "d"], ["a", "b", "c", "d"], True),
        (["…", "x 1.… GB/s"], ["x 1.23 GB/s"], True),
        (["x 1.… GB/s"], ["x 2.23 GB/s"], False),
        (["run 20261123T090000 of 2026-11-23"], ["run 20270101T101112 of 2027-01-01"], True),
        (["[1/6] PASS; about 10 s left"], ["[1/6] PASS"], True),
        ([], ["a"], False),
    ],
)
def test_what_fits(shown: list[str], output: list[str], fit: bool) -> None:
    assert fits(shown, output) is fit


def test_a_block_of_sh_has_a_command_a_line() -> None:
    assert [c.text for c in Block(Path("x"), 1, "sh", ["a", "", "b"]).commands()] == ["a", "b"]
