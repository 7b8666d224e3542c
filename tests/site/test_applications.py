"""The files of ``site/applications/``, and partitions that name them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nearfar.base import NearfarError, SiteFile
from nearfar.cost import figure_of_merit
from nearfar.site import applications, lint, systems
from tests.conftest import CHECKOUT

SHIPPED = CHECKOUT / "site"
OUTPUTS = Path(__file__).parents[1] / "data" / "applications"
FILE = "application: app\ndescription: one\nget: nowhere\nrun:\n  command: [app, -x]\n  fom: 'took (\\S+) s'\n  ranks: 2\n  budget: 60\n"


def site(folder: Path, text: str, programs: str = "") -> Path:
    """A site directory with one application, and a system with these programs."""
    for name in ("applications", "systems"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "applications" / "app.yaml").write_text(text)
    if programs:
        lines = f"system: mine\npartitions:\n  - name: host\n    features: [programs]\n    programs: {programs}\n"
        (folder / "systems" / "mine.yaml").write_text(lines)
    return folder


def read(folder: Path) -> systems.System:
    return systems.from_file(SiteFile(folder / "systems" / "mine.yaml", {}), [folder])


def test_those_that_are_shipped_have_ten_lines_and_say_how_they_are_got() -> None:
    found = {path.stem: applications.load(path.stem, [SHIPPED]) for path in (SHIPPED / "applications").glob("*.yaml")}
    assert {"hpl", "lammps", "gromacs", "training"} <= found.keys()
    for name, one in found.items():
        assert len(one.file.read_text().splitlines()) <= 15, name
        assert one.inputs is not None and one.get and one.options["expect"], name


@pytest.mark.parametrize(
    "file, application, value",
    [
        # Written from what the program's documentation shows, as it may not be passed on.
        ("hpl-nvidia-as-documented.txt", "hpl", 4.107e05),
        ("hpl-hpcc-1.5.0.txt", "hpl", 0.9264),
        ("lammps-20220106.txt", "lammps", 20.7278),
        ("gromacs-2022.5.txt", "gromacs", 9.793),
    ],
)
def test_the_figure_is_found_in_what_programs_print(file: str, application: str, value: float) -> None:
    options = applications.load(application, [SHIPPED]).options
    output = (OUTPUTS / file).read_text()
    figure = figure_of_merit(options["fom"], options.get("take"), None)
    assert figure.read(output, 0.0).value == pytest.approx(value, rel=1e-3)
    assert figure.less_is_better == (application == "lammps")
    assert re.search(options["expect"], output, re.MULTILINE)


def test_a_partition_takes_what_the_file_says_but_for_what_it_says_itself(tmp_path: Path) -> None:
    programs = "[{application: app, ranks: 4, at_most: 5%}, {name: short, application: app}, {name: own, command: [x]}]"
    found = read(site(tmp_path, FILE, programs)).partitions["host"].programs
    assert [each["name"] for each in found] == ["app", "short", "own"]
    assert found[0]["ranks"] == 4 and found[0]["command"] == ["app", "-x"] and found[0]["budget"] == 60
    assert found[1]["ranks"] == 2 and found[0]["get"] == "nowhere" and "inputs" not in found[0]


@pytest.mark.parametrize(
    "programs, words",
    [
        ("[{application: ap}]", "mine.yaml:5: unknown application 'ap' (did you mean 'app'?)"),
        ("[{name: x}]", "mine.yaml:5: the key 'command' is missing, or application: that names a file"),
        ("[{application: app}, {application: app}]", "two programs called 'app'"),
        ("[{name: x, command: [y], fom: '('}]", "fom: '(' is not a regular expression"),
        ("[{name: x, command: [y], schemes: [rigth]}]", "no such scheme: 'rigth' (did you mean 'right'?)"),
        ("[{name: x, command: [y], rank: 2}]", "unknown key 'rank' (did you mean 'ranks'?)"),
    ],
)
def test_a_wrong_partition_is_one_line(tmp_path: Path, programs: str, words: str) -> None:
    with pytest.raises(NearfarError) as refused:
        read(site(tmp_path, FILE, programs))
    assert words in str(refused.value) and "mine.yaml:5" in str(refused.value)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("application: app", "application: other", ":1: error: application: 'other' in a file called app.yaml"),
        ("get: nowhere\n", "", "the key 'get' is missing"),
        ("  ranks: 2", "  name: x", ":7: error: run: 'name' belongs to a partition's programs"),
        ("  command: [app, -x]\n", "", "run: the key 'command' is missing"),
        ("took (", "took ((", ":6: error: fom: 'took ((\\S+) s' is not a regular expression"),
        ("get: nowhere", "get: nowhere\nprepare: [make input]", "prepare: it works in a copy of "),
        ("ranks: 2", "schemes: [0-x]", ":7: error: no such scheme: '0-x'"),
    ],
)
def test_lint_says_what_is_wrong_in_a_file(tmp_path: Path, old: str, new: str, words: str) -> None:
    folder = site(tmp_path, FILE.replace(old, new))
    said = [str(each) for each in lint.lint([folder, SHIPPED]).complaints if folder in each.file.parents]
    assert len(said) == 1 and words in said[0], said


def test_an_unknown_one_is_named_with_those_that_there_are() -> None:
    with pytest.raises(NearfarError, match=r"no application is called 'lamps' \(did you mean 'lammps'\?\)"):
        applications.load("lamps", [SHIPPED])
