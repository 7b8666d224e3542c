"""What a machine could have been asked but for a program: named in run.json, terminal, page and report.json, and no verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearfar import report
from nearfar.base import site_directories
from nearfar.question import ACCEPT, asked_at, named
from nearfar.run import not_asked
from nearfar.run.validation import Request, unasked
from nearfar.site import System, systems
from tests.data.runs import synthetic

NO_OSU, NO_MPI = "there is no osu_latency on the PATH", "there is no mpicxx on the PATH"


def machine(gpus: bool, **lacks: str) -> System:
    return systems.local_system(gpus, systems.load_all(list(site_directories())), lacks)


@pytest.mark.parametrize(
    "gpus, lacks, checks",
    [
        (True, {"mpi": NO_OSU}, {"osu_check"}),
        (True, {"mpi": NO_OSU, "ranks": NO_MPI}, {"osu_check", "mpi_check", "load_balance_check"}),
        (False, {"mpi": NO_OSU, "ranks": NO_MPI}, {"osu_check", "mpi_check"}),
        (True, {}, set()),
    ],
)
def test_what_is_missing_is_named_and_what_the_machine_is_not_is_left_out(
    gpus: bool, lacks: dict[str, str], checks: set[str]
) -> None:
    found = not_asked.entries(asked_at(ACCEPT), machine(gpus, **lacks))
    assert {entry["check"] for entry in found} == checks
    assert all(entry["reason"] and entry["remedy"] and entry["title"] for entry in found)
    assert all(entry["reason"] == (NO_OSU if entry["check"] == "osu_check" else NO_MPI) for entry in found)


def test_the_line_that_brings_it() -> None:
    remedies = {
        e["check"]: e["remedy"] for e in not_asked.entries(asked_at(ACCEPT), machine(True, mpi=NO_OSU, ranks=NO_MPI))
    }
    assert remedies["osu_check"].startswith("./validate --with spack builds and measures it")
    assert "openmpi-bin libopenmpi-dev" in remedies["mpi_check"] and "load its module" in remedies["mpi_check"]


def test_a_described_system_asks_for_what_it_wants() -> None:
    described = systems.load_all(list(site_directories()))["h200-vm"]
    assert not_asked.entries(asked_at(ACCEPT), described) == []


def test_who_names_checks_is_told_of_no_others() -> None:
    lacking = machine(True, mpi=NO_OSU)
    assert [entry["check"] for entry in unasked(Request(), lacking)] == ["osu_check"]
    assert unasked(Request(checks=("host_memory_check",)), lacking) == []
    assert unasked(Request(quick=True), lacking) == []


def test_any_question_with_such_a_feature_is_found() -> None:
    """By its features alone, whatever it is called."""
    question = named("ping_pong_check")
    assert question.lacks("local", "default", ["two_nodes"], {"mpi": NO_OSU, "ranks": NO_MPI}) == ("mpi",)
    assert question.lacks("local", "default", [], {"mpi": NO_OSU}) == (), "one node is not for lack of a program"
    assert question.lacks("local", "default", ["mpi", "two_nodes"], {"ranks": NO_MPI}) == ()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = synthetic.SCENARIOS["healthy"](tmp_path / "run")
    entries = not_asked.entries(asked_at(ACCEPT), machine(True, mpi=NO_OSU, ranks=NO_MPI))
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "not_asked": entries}))
    report.build(folder)
    return folder


def test_terminal_page_and_json_name_it(run: Path) -> None:
    lines = report.summary(run, colour=False).splitlines()
    assert len(lines) <= 24
    (osu,) = [
        line
        for line in lines
        if line.startswith("not run    MPI (OSU): there is no osu_latency on the PATH; ./validate")
    ]
    (mpi,) = [line for line in lines if line.startswith("not run    Load balance, MPI by binding: there is no mpicxx")]
    page = (run / "index.html").read_text()
    for line in (osu, mpi):
        assert line.partition("  ")[2].strip() in page
    found = json.loads((run / "report.json").read_text())
    assert [entry["check"] for entry in found["not_asked"]] == ["load_balance_check", "mpi_check", "osu_check"]


def test_it_is_no_verdict(run: Path) -> None:
    assert json.loads((run / "report.json").read_text())["verdict"] == "PASS"


def test_a_run_of_an_earlier_version_says_nothing(tmp_path: Path) -> None:
    folder = synthetic.SCENARIOS["healthy"](tmp_path / "run")
    report.build(folder)
    assert json.loads((folder / "report.json").read_text())["not_asked"] == []
    assert "Not asked" not in (folder / "index.html").read_text()
