"""The manual as a site, and manual pages: links lead somewhere, every page can be reached, man takes every page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.commands import slurm

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "setup"))

import man_pages  # noqa: E402

HELP = """usage: tool [-h] WHAT

Does one thing.
.It begins with a point.

positional arguments:
  WHAT           the thing

options:
  -h, --help     this text
  --with-a-long-name {one,two}
                 a back\\slash

examples:
  tool thing     one line

More about it.
exit codes: 0 done, 1 not
"""


def build_site(checkout: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    command += ["--config-file", str(checkout / "mkdocs.yml")]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_site_is_built_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    done = build_site(CHECKOUT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = [path.relative_to(CHECKOUT / "docs").with_suffix(".html") for path in (CHECKOUT / "docs").rglob("*.md")]
    assert len(pages) > 30
    pages += [Path("studies") / f"{path.stem}.html" for path in (CHECKOUT / "benchmarks/studies").glob("*.md")]
    assert [str(page) for page in pages if page.name != "README.html" and not (tmp_path / "site" / page).exists()] == []


@pytest.mark.parametrize("link", ["no-such-page.md", "start.md#no-such-heading"])
def test_a_link_that_leads_nowhere_is_an_error(link: str, tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    shutil.copytree(CHECKOUT / "docs", tmp_path / "docs")
    shutil.copy(CHECKOUT / "mkdocs.yml", tmp_path)
    for needed in ("benchmarks/studies", "setup"):
        shutil.copytree(CHECKOUT / needed, tmp_path / needed)
    with (tmp_path / "docs" / "README.md").open("a") as page:
        page.write(f"\n[further]({link})\n")
    done = build_site(tmp_path, tmp_path / "site")
    assert done.returncode != 0 and link in done.stderr, done.stderr


def test_a_manual_page_has_the_sections_of_a_help_text() -> None:
    page = man_pages.page("tool", HELP, "does one thing", "other(1)")
    assert [line for line in page.splitlines() if line.startswith(".SH")] == [
        f".SH {title}"
        for title in (
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "ARGUMENTS",
            "OPTIONS",
            "EXAMPLES",
            "EXIT STATUS",
            "SEE ALSO",
        )
    ]
    assert "\n\\&.It begins with a point.\n" in page
    assert "\n  \\-\\-with\\-a\\-long\\-name {one,two}\n                 a back\\eslash\n" in page


def test_every_command_and_program_has_a_page_that_man_takes(build_folder: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(CHECKOUT / "setup" / "man_pages.py"),
        str(tmp_path / "man1"),
        str(build_folder / "bin"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    expected = {
        "nearfar",
        *(f"nearfar-{name}" for name in cli.COMMANDS),
        *(f"nearfar-slurm-{name}" for name in slurm.COMMANDS),
    }
    expected |= {f"nearfar-{program}" for program in ("copy",)}
    pages = {path.stem: path for path in (tmp_path / "man1").iterdir()}
    assert expected - set(pages) == set()
    for name, page in pages.items():
        text = page.read_text()
        assert (".SH NAME" in text and ".SH EXAMPLES" in text) or "-externals" in name, name
    if shutil.which("man") is None or shutil.which("troff") is None:
        pytest.skip("no man on this machine: the pages were written, and not read by it")
    for page in pages.values():
        shown = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-P", "cat", "-l", str(page)],
            capture_output=True, text=True, timeout=30, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"},
        )  # fmt: skip
        assert (shown.returncode, shown.stderr) == (0, ""), f"{page.name}: {shown.stderr}"
