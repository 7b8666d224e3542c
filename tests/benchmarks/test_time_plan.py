"""The plan of ./validate's time: the sets that nearfar-copy makes, and what eight GPUs cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import time_plan
from nearfar.cells import Cell, peer_matrix
from nearfar.topology import Node, parse_hwloc_xml
from tests.support.construct_topologies import CAPTURES, NODE_TYPES


def node(path: Path) -> Node:
    return parse_hwloc_xml(path.read_text(encoding="utf-8"))


EIGHT = node(CAPTURES / "constructed-eight-gpus-nvswitch-one-numa.xml")


def lone_pairs(of: Node) -> list[Cell]:
    return [cell for cell in peer_matrix(of)[0] if cell.lone and not cell.flows[0].staged]


def test_the_sets_are_those_of_the_program() -> None:
    sets = time_plan.company(lone_pairs(EIGHT), EIGHT)
    assert sorted(map(len, sets)) == [1, 1, 3, 3, *[4] * 26]
    assert ["g0:g1"] in [list(map(str, cells)) for cells in sets]
    summit = node(NODE_TYPES / "summit.xml")
    assert all(len(cells) == 1 for cells in time_plan.company(lone_pairs(summit), summit)), (
        "three GPUs a package are joined"
    )


@pytest.mark.parametrize("alone", [False, True])
def test_every_check_and_cell_is_counted(alone: bool) -> None:
    parts = list(time_plan.plan(EIGHT, alone))
    assert len({part.check for part in parts}) == 14
    assert sum(part.cells for part in parts if part.kind == "pairs, one way" and part.check == "peer_check") == 112
    assert all(part.seconds > 0 for part in parts if part.cells)


def test_company_saves_a_third_of_the_time_of_pairs() -> None:
    seconds = [
        sum(part.seconds for part in time_plan.plan(EIGHT, alone) if part.kind == "pairs, one way")
        for alone in (True, False)
    ]
    assert seconds[1] < seconds[0] * 2 / 3
