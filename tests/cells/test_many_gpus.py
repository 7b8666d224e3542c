"""Nodes with more than six GPUs: every path is measured one way, the rest of representatives that the skips name."""

from __future__ import annotations

import pytest

from nearfar.cells import (
    Cell,
    Skip,
    exchanges,
    host_device_cells,
    latency_cells,
    peer_matrix,
    saturation_ramps,
    sharing_ramps,
    size_sweep,
)
from nearfar.topology import Node, parse_hwloc_xml
from tests.support.construct_topologies import CAPTURES, NODE_TYPES

SUMMIT = parse_hwloc_xml((NODE_TYPES / "summit.xml").read_text(encoding="utf-8"))


def eight(name: str) -> Node:
    return parse_hwloc_xml((CAPTURES / f"constructed-{name}.xml").read_text(encoding="utf-8"))


@pytest.fixture(params=["eight-gpus-nvswitch", "eight-gpus-nvswitch-subnuma"])
def node(request: pytest.FixtureRequest) -> Node:
    return eight(request.param)


def texts(cells: list[Cell]) -> set[str]:
    return {str(cell) for cell in cells}


def test_every_path_is_measured_one_way(node: Node) -> None:
    hosts, pairs = texts(host_device_cells(node)[0]), texts(peer_matrix(node)[0])
    for gpu in range(8):
        for memory in node.host_numa_nodes:
            assert {f"n{memory.index}:g{gpu}", f"g{gpu}:n{memory.index}"} <= hosts
        for other in range(8):
            assert gpu == other or {f"g{gpu}:g{other}", f"g{gpu}:g{other}@g{other}"} <= pairs


def test_both_directions_at_once_of_each_gpu_with_its_own_memory(node: Node) -> None:
    both = [cell for cell in host_device_cells(node)[0] if not cell.lone]
    own = {(gpu.index, gpu.numa_node) for gpu in node.gpus}
    found = {(cell.flows[0].gpus[0], cell.flows[0].numa_node) for cell in both}
    assert own <= found
    assert {gpu for gpu, memory in found - own} == {0, 4}, "with every memory the first GPU of each package"


def test_every_pair_is_in_a_round_of_both_directions(node: Node) -> None:
    assert next(str(cell) for cell in peer_matrix(node)[0] if not cell.lone) == "g0:g1+g1:g0"
    assert all(cell.lone or cell.gpus == (0, 1) for cell in peer_matrix(node)[0])
    rounds = [cell for cell in exchanges(node)[0] if len(cell.flows) == 8]
    assert {frozenset(flow.gpus) for cell in rounds for flow in cell.flows} == {
        frozenset((a, b)) for a in range(8) for b in range(a)
    }


def test_hubs_sharing_sizes_and_latencies_are_of_representatives(node: Node) -> None:
    hubs = [cell for cell in exchanges(node)[0] if len(cell.flows) == 7]
    assert len(hubs) == 4
    assert {flow.gpus[0] for cell in sharing_ramps(node)[0] for flow in cell.flows} == {0, 4}
    assert {flow.tasks for cell in sharing_ramps(node)[0] for flow in cell.flows} == {1, 2, 4}
    assert {cell.flows[0].gpus[0] for cell in size_sweep(node)[0] if cell.flows[0].kind == "host"} == {0}
    latencies = latency_cells(node)[0]
    assert {cell.flows[0].gpus[0] for cell in latencies if cell.flows[0].kind == "host"} == {0, 4}
    assert {gpu for cell in latencies if cell.flows[0].kind == "peer" for gpu in cell.flows[0].gpus} == set(range(8))
    assert {len({flow.gpus for flow in cell.flows}) for cell in saturation_ramps(node)[0]} == {1, 2, 4, 8}


@pytest.mark.parametrize("made", [host_device_cells, peer_matrix, exchanges, latency_cells])
def test_what_is_left_out_names_who_stands_for_it(node: Node, made: object) -> None:
    cells: list[Cell]
    skips: list[Skip]
    cells, skips = made(node)  # type: ignore[operator]
    assert skips and {skip.code for skip in skips} == {"representative"}
    assert all(skip.reason.startswith("represented by ") for skip in skips)
    assert not texts(cells) & {str(skip.cell) for skip in skips}


def test_six_gpus_have_everything() -> None:
    for made in (host_device_cells, exchanges, latency_cells):
        assert made(SUMMIT)[1] == []
    assert {len({flow.gpus for flow in cell.flows}) for cell in saturation_ramps(SUMMIT)[0]} == {1, 2, 3, 4, 5, 6}
