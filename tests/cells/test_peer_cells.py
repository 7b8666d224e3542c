"""The cells of many GPUs: the peer matrix, saturation and sharing ramps, and which load a cell is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar.cells import (
    Load,
    decode_cell,
    encode_cell,
    load_of,
    parse,
    peer_matrix,
    saturation_ramps,
    sharing_ramps,
    whole_loads,
)
from nearfar.model.prediction import load_node_type
from nearfar.topology import Gpu, Node, NumaNode, Package, parse_hwloc_xml
from tests.conftest import CHECKOUT

MEMORY = 1 << 37


def node(packages: int, per_package: int, link: str | None = "NV18", known: bool = True) -> Node:
    """GPUs in packages of one NUMA node each; ``known``: the system says where the GPUs are."""
    gpus = tuple(
        Gpu(i, f"0000:{i + 1:02x}:00.0", numa_node=i // per_package if known else None, package=i // per_package if known else None)
        for i in range(packages * per_package)
    )  # fmt: skip
    pairs = {(a, b): link for a in range(len(gpus)) for b in range(a + 1, len(gpus))} if link else {}
    return Node(
        "n", tuple(Package(p, (p,)) for p in range(packages)), tuple(NumaNode(p, p, (p,), MEMORY) for p in range(packages)),
        gpus, peers={pair: link for pair, link in pairs.items() if link},
    )  # fmt: skip


SUMMIT = load_node_type("summit", [CHECKOUT / "site"]).node


def words(cells: list) -> list[str]:
    return [str(cell) for cell in cells]


def test_every_pair_is_written_read_both_and_staged() -> None:
    cells, skips = peer_matrix(node(1, 2))
    assert words(cells) == [
        "g0:g1", "g1:g0", "g0:g1@g1", "g1:g0@g0", "g0:g1+g1:g0", "g0:g1/staged", "g1:g0/staged",
        "g0:g1/staged+g1:g0/staged",
    ]  # fmt: skip
    assert skips == []
    assert len(peer_matrix(node(1, 4))[0]) == 6 * 8


def test_of_six_gpus_each_is_staged_with_the_next_one_of_each_path_class() -> None:
    cells, skips = peer_matrix(node(1, 6))
    staged = [cell.flows[0] for cell in cells if cell.flows[0].staged]
    assert len(cells) == 15 * 5 + 18
    assert {flow.source.index for flow in staged} == {flow.destination.index for flow in staged} == set(range(6))
    assert {skip.code for skip in skips} == {"representative"} and len(skips) == 27
    assert all(skip.cell.flows[0].staged for skip in skips)


def test_one_gpu_has_no_pairs() -> None:
    assert peer_matrix(node(1, 1)) == ([], [])


def test_a_hidden_gpu_is_denied() -> None:
    known = node(1, 3)
    known = replace(known, gpus=(*known.gpus[:2], replace(known.gpus[2], visible=False)))
    cells, skips = peer_matrix(known)
    assert len(cells) == 8
    assert {skip.code for skip in skips} == {"denied"} and len(skips) == 16
    for ramps in (saturation_ramps, sharing_ramps):
        cells, skips = ramps(known)
        assert all(2 not in flow.gpus for cell in cells for flow in cell.flows)
        assert [(str(skip.cell), skip.code) for skip in skips] == [("n0:g2", "denied")]


@pytest.mark.parametrize("link", ["NV6", None])
def test_many_gpus_have_representatives_and_every_gpu_takes_part(link: str | None) -> None:
    many = node(2, 8, link)
    cells, skips = peer_matrix(many)
    assert {skip.code for skip in skips} == {"representative"}
    assert len(cells) + len(skips) == 120 * 8
    assert len(cells) <= 16 * 8 * (1 if link else 3)
    writers = {cell.flows[0].source.index for cell in cells}
    assert writers == set(range(16))


def test_summits_ramp_has_the_order_of_its_published_table() -> None:
    cells, _ = saturation_ramps(SUMMIT)
    assert words(cells)[:6] == [
        "n0:g0", "n0:g0+n1:g3", "n0:g0+n1:g3+n0:g1", "n0:g0+n1:g3+n0:g1+n1:g4", "n0:g0+n1:g3+n0:g1+n1:g4+n0:g2",
        "n0:g0+n1:g3+n0:g1+n1:g4+n0:g2+n1:g5",
    ]  # fmt: skip
    # Packed on package 0 in steps, package 1 whole; then across: each package, and both.
    assert words(cells)[6:12] == [
        "n0:g0+n0:g1", "n0:g0+n0:g1+n0:g2", "n1:g3+n1:g4+n1:g5", "n1:g0+n1:g1+n1:g2", "n0:g3+n0:g4+n0:g5",
        "n1:g0+n1:g1+n1:g2+n0:g3+n0:g4+n0:g5",
    ]  # fmt: skip
    assert len(cells) == 36
    assert parse("n0:g0+g0:n0+n1:g3+g3:n1") in cells
    assert len(whole_loads(SUMMIT)) == 18


def test_one_memory_has_one_ramp() -> None:
    cells, _ = saturation_ramps(node(1, 4))
    assert len(cells) == 12
    assert words(cells)[3] == "n0:g0+n0:g1+n0:g2+n0:g3"


def test_many_gpus_in_fewer_steps() -> None:
    cells, _ = saturation_ramps(node(1, 16))
    assert [len(cell.flows) for cell in cells[:5]] == [1, 2, 4, 8, 16]


def test_an_unknown_place_is_never_guessed() -> None:
    cells, _ = saturation_ramps(node(2, 2, known=False))
    assert {load_of(node(2, 2, known=False), cell).ramp for cell in cells} == {"spread"}


def test_tasks_share_all_gpus() -> None:
    cells, _ = sharing_ramps(SUMMIT)
    assert len(cells) == 8
    assert words(cells)[1] == "n0:g0/x2+n1:g3/x2+n0:g1/x2+n1:g4/x2+n0:g2/x2+n1:g5/x2"
    assert {flow.tasks for cell in cells for flow in cell.flows} == {1, 2, 3, 4}


def test_memory_that_is_not_allowed_takes_no_part() -> None:
    cells, _ = saturation_ramps(replace(SUMMIT, allowed_numa_nodes=(0,)))
    assert {flow.numa_node for cell in cells for flow in cell.flows} == {0}


@pytest.mark.parametrize(
    "cell, load",
    [
        ("n0:g0", Load("spread", "h2d", (0,))),
        ("n0:g0+n1:g3", Load("spread", "h2d", (0, 3))),
        ("n0:g0+n0:g1", Load("packed", "h2d", (0, 1), package=0)),
        ("g3:n1+g4:n1", Load("packed", "d2h", (3, 4), package=1)),
        ("n1:g0+n1:g1", Load("across", "h2d", (0, 1))),
        ("n0:g0/x3+n1:g3/x3", Load("spread", "h2d", (0, 3), 3)),
        ("n0:g0+g0:n0+n1:g3+g3:n1", Load("spread", "both", (0, 3))),
        ("n0:g0+g3:n1", None),
        ("n0:g0/x2+n1:g3", None),
        ("n0:g0/pageable", None),
        ("g0:g1", None),
        ("c0:n0/triad", None),
    ],
)
def test_which_load_a_cell_is(cell: str, load: Load | None) -> None:
    assert load_of(SUMMIT, parse(cell)) == load


def test_names_of_generated_cells_are_reversible() -> None:
    for generate in (peer_matrix, saturation_ramps, sharing_ramps):
        for cell in generate(SUMMIT)[0]:
            assert decode_cell(encode_cell(cell)) == cell
            assert parse(str(cell)) == cell


@pytest.mark.parametrize("file", sorted((CHECKOUT / "tests/data/topologies").glob("*.xml")), ids=lambda f: f.stem)
def test_any_topology(file) -> None:
    known = parse_hwloc_xml(file.read_text())
    for generate in (peer_matrix, saturation_ramps, sharing_ramps):
        cells, _ = generate(known)
        assert len(set(cells)) == len(cells)
    for cell in saturation_ramps(known)[0]:
        assert load_of(known, cell) is not None
    assert len(saturation_ramps(known)[0]) <= 120
