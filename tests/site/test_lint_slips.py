"""Slips that stand in published tables, or that a person makes, each in a small site of ``data/lint/slips``."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest

from nearfar.site import lint
from tests.conftest import CHECKOUT

DATA = Path(__file__).parents[1] / "data" / "lint"
SLIPS = sorted(path.name for path in (DATA / "slips").iterdir())
_MARK = re.compile(r"# (error|warning|info): (.*)$")


def complaints(slip: Path) -> list[lint.Complaint]:
    """What lint says of one slip's files."""
    looked = lint.lint([slip, DATA / "site", CHECKOUT / "site"], date(2026, 11, 21))
    return [complaint for complaint in looked.complaints if slip in complaint.file.parents]


@pytest.mark.parametrize("name", [name for name in SLIPS if name != "templates"])
def test_every_slip_is_caught_at_its_line_and_nothing_else_is_said(name: str) -> None:
    slip = DATA / "slips" / name
    found: dict[tuple[Path, int], list[lint.Complaint]] = defaultdict(list)
    for complaint in complaints(slip):
        found[complaint.file, complaint.line].append(complaint)
    missed = []
    for path in sorted(slip.rglob("*.yaml")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            mark = _MARK.search(line)
            said = found.pop((path, number), [])
            fits = [c for c in said if mark and c.level == mark[1] and mark[2] in c.message]
            if bool(mark) != bool(fits) or len(said) != len(fits):
                missed.append(
                    f"{path.name}:{number}: marked {mark[0] if mark else 'nothing'}, said {[str(c) for c in said]}"
                )
    assert not missed, "\n".join(missed)
    stray = [complaint for each in found.values() for complaint in each]
    assert {complaint.rule for complaint in stray} <= {"stray"}, stray


def test_files_and_folders_with_misspelt_names_are_told() -> None:
    said = [str(c) for c in complaints(DATA / "slips" / "misspelt") if c.rule == "stray"]
    assert any("gpus/h100.yml:1: warning: is not read; call it h100.yaml" in each for each in said)
    assert any("reference:1: warning: no such folder is read (did you mean 'references'?)" in each for each in said)


def test_templates_that_do_not_render_are_told() -> None:
    said = {c.file.name: c for c in complaints(DATA / "slips" / "templates")}
    assert (said["slurm.sh.j2"].level, said["slurm.sh.j2"].line) == ("error", 3)
    assert "'rank' is undefined" in said["openmpi.sh.j2"].message
    assert (
        said["slrum.sh.j2"].level == "warning" and "(did you mean 'bind/slurm.sh.j2'?)" in said["slrum.sh.j2"].message
    )
    assert said["page.html"].level == "error" and "endblock" in said["page.html"].message


def test_every_slip_is_explained() -> None:
    told = re.findall(r"^\| `([\w-]+)`", (DATA / "README.md").read_text(), re.MULTILINE)
    assert sorted(told) == SLIPS
