"""The table of the capacities that a modelled page's predictions used."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.model.prediction import Capacity
from nearfar.report.explanations import Explained
from nearfar.report.page import render
from nearfar.report.page import section as section_of
from nearfar.report.sections import explaining
from nearfar.verdict import run_directory
from tests.report.test_at_best import eight_gpus


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> run_directory.RunDirectory:
    folder = eight_gpus(tmp_path)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    return run_directory.read(folder)


def rows(run: run_directory.RunDirectory, *faults: str) -> dict[str, tuple[str, str, int]]:
    every = [f for own in section_of(0, run.nodes[0], Explained()).figures.values() for f in own]
    node_type = explaining.modelled_type(run.nodes[0].name, faults)
    return {name: tuple(more) for name, *more in explaining.used_rows(node_type, every)} if node_type else {}


def test_each_capacity_with_its_value_its_source_and_what_it_limits(run: run_directory.RunDirectory) -> None:
    found = rows(run)
    assert found["g0–7.h2d"][:2] == ("55.3", "measured: a log")
    assert found["n0.memory, n1.memory"][1] == "assumed"
    assert found["g0–7.both"][:2] == ("≤ 116.1", "upper bound: its peak; the node type does not give it")
    value, _, limits = found["p1-p0, p0-p1"]
    assert value == "unknown" and limits == 0
    every = [f for own in section_of(0, run.nodes[0], Explained()).figures.values() for f in own]
    limited = [f for f in every if not f.derived and f.flow is None and {"n0.memory", "n1.memory"} & {*f.limited_by}]
    assert found["n0.memory, n1.memory"][2] == len(limited) > 0


def test_an_assumed_capacity_is_called_so() -> None:
    assumed = Capacity("n0.memory", 200.0, source="as on our other nodes", assumed=True)
    assert explaining._known(assumed) == ("200.0", "assumed: as on our other nodes")


def test_a_made_up_fault_is_a_row_of_its_own(run: run_directory.RunDirectory) -> None:
    found = rows(run, "g2.h2d=0.5")
    assert found["g2.h2d"][:2] == ("27.6", "changed by a made-up fault")
    assert found["g0–1, 3–7.h2d"][0] == "55.3"


def test_the_page_has_it_folded_and_stays_small(
    run: run_directory.RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = render(run, {node.folder.name: Explained() for node in run.nodes})
    assert '<details class="block " id="s0.used"><summary><h3>Capacities that the prediction used' in page
    assert len(page.encode()) < 500_000
    monkeypatch.setenv("NEARFAR_SITE", "")
    assert rows(run) == {}, "a node type that is not here has no table"
