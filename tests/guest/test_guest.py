"""Binding, placement and topology on real kernels with several NUMA nodes (guests under QEMU)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nearfar import cells, topology

from .conftest import (
    HUGE,
    IN_CPUSET,
    IN_MEMSET,
    IN_SMALL_GROUP,
    LSTOPO,
    NUMA_PAIRS,
    RANK_PLACES,
    STREAM,
    STREAM_CELLS,
    Outcomes,
)

pytestmark = pytest.mark.guest


def xml(outcomes: Outcomes) -> str:
    """The topology that lstopo printed in the guest."""
    status, said = outcomes[LSTOPO]
    assert status == 0, said
    return said[said.index("<?xml") :]


def placement(outcomes: Outcomes, command: str = "placement_test") -> str:
    """What the placement test said; it must have held."""
    status, said = outcomes[command]
    assert status == 0, said
    assert "WRONG" not in said
    return said


def test_two_nodes_are_parsed(two_nodes: Outcomes) -> None:
    node = topology.parse_hwloc_xml(xml(two_nodes))
    document = topology.node_to_document(node)
    assert [(numa["index"], numa["package"], numa["cpus"]) for numa in document["numa_nodes"]] == [
        (0, 0, "0-1"),
        (1, 1, "2-3"),
    ]
    assert [package["cpus"] for package in document["packages"]] == ["0-1", "2-3"]
    assert all(numa["memory"] > 300 << 20 for numa in document["numa_nodes"])


def test_pages_lie_where_they_are_bound(two_nodes: Outcomes) -> None:
    said = placement(two_nodes)
    assert "node 0: pages on 0, filled from cpus 0-1" in said
    assert "node 1: pages on 1, filled from cpus 2-3" in said
    assert "interleaved over 0 and 1: seen on 2 nodes" in said


@pytest.mark.parametrize(("command", "cpus"), [("taskset 0x4 placement_test", "2"), (IN_CPUSET, "0-1")])
def test_memory_needs_none_of_its_nodes_cpus(two_nodes: Outcomes, command: str, cpus: str) -> None:
    said = placement(two_nodes, command)
    assert f"node 0: pages on 0, filled from cpus {cpus}" in said
    assert f"node 1: pages on 1, filled from cpus {cpus}" in said


def test_memory_that_the_cpuset_forbids_is_refused(two_nodes: Outcomes) -> None:
    said = placement(two_nodes, IN_MEMSET)
    assert "node 0: pages on 0, filled from cpus 0-1" in said
    assert "node 1: not_allowed: the cpuset forbids the memory of NUMA node 1" in said


def test_a_small_control_group_is_told_before_it_is_filled(two_nodes: Outcomes) -> None:
    status, said = two_nodes[IN_SMALL_GROUP]
    assert status == 3, said
    document = json.loads(said[said.index("{") : said.rindex("}") + 1])
    (skipped,) = document["skipped"]
    assert skipped["code"] == "no_memory"
    assert "/sys/fs/cgroup/small/memory.max allows 100 MiB" in skipped["reason"]
    assert "192 MiB are needed" in skipped["reason"]


def test_huge_pages_are_of_2_mib_whatever_the_default_is(two_nodes: Outcomes) -> None:
    said = placement(two_nodes, HUGE)
    assert "node 1, huge pages: pages on 1, filled from cpus 2-3" in said
    assert (
        "node 0, huge pages: no_memory: NUMA node 0 has 0 free huge pages of 2 MiB, 8 are needed; reserve them in"
        in said
    )


def test_a_rank_leaves_its_launchers_cpu_for_its_gpus_node_or_the_wrong_one(two_nodes: Outcomes) -> None:
    said = placement(two_nodes, RANK_PLACES)
    for line in (
        "launched on cpus 2",
        "home 0, default: cpus 2, memory of node 1",
        "home 0, gpu: cpus 0-1, memory of node 0",
        "home 0, wrong: cpus 2-3, memory of node 1",
        "home 1, gpu: cpus 2-3, memory of node 1",
        "home 1, wrong: cpus 0-1, memory of node 0",
    ):
        assert line in said, said


def test_two_ranks_of_every_pair_of_numa_nodes_are_bound_with_their_messages(two_nodes: Outcomes) -> None:
    said = placement(two_nodes, NUMA_PAIRS)
    for line in (
        "n0-n0: rank 0 on cpus 0, messages on node 0; rank 1 on cpus 1, messages on node 0",
        "n0-n1: rank 0 on cpus 0, messages on node 0; rank 1 on cpus 2, messages on node 1",
        "n1-n1: rank 0 on cpus 2, messages on node 1; rank 1 on cpus 3, messages on node 1",
    ):
        assert line in said, said


def test_stream_of_two_nodes(two_nodes: Outcomes) -> None:
    said = two_nodes[STREAM][1]
    document = json.loads(said[said.index("{") : said.rindex("}") + 1])
    (flow,) = document["results"][0]["flows"]
    assert (flow["flow"], flow["cpus"], flow["memory_nodes"]) == ("c0:n1/triad", "0-1", [1])
    assert document["results"][0]["verified"]


def test_a_node_without_memory_and_one_without_cpus(four_nodes: Outcomes) -> None:
    document = topology.node_to_document(topology.parse_hwloc_xml(xml(four_nodes)))
    numa = {numa["index"]: numa for numa in document["numa_nodes"]}
    assert numa[0]["cpus"] == "0" and numa[1]["cpus"] == "1" and numa[3]["cpus"] == ""
    assert numa.get(2, {"memory": 0})["memory"] == 0
    said = placement(four_nodes)
    assert "node 0: pages on 0, filled from cpus 0" in said
    assert "node 1: pages on 1, filled from cpus 1" in said
    assert re.search(r"^node 3: pages on 3, filled from cpus [0-3,-]+$", said, re.M)
    assert "node 2: pages" not in said


@pytest.mark.parametrize(
    ("guest", "cores", "memories"), [("two_nodes", [0, 1], [0, 1]), ("four_nodes", [0, 1, 2], [0, 1, 3])]
)
def test_stream_cells(guest: str, cores: list[int], memories: list[int], request: pytest.FixtureRequest) -> None:
    outcomes = request.getfixturevalue(guest)
    status, said = outcomes[STREAM_CELLS]
    assert status == 0, said
    listed = [str(cells.parse(line)) for line in said.split()]
    assert listed[:-1] == [f"c{core}:n{memory}/triad" for core in cores for memory in memories]
    assert listed == [str(cell) for cell in cells.stream_matrix(topology.parse_hwloc_xml(xml(outcomes)))]


@pytest.mark.parametrize("guest", ["two_nodes", "four_nodes"])
def test_copy_without_gpus_says_so(guest: str, build_folder: Path, request: pytest.FixtureRequest) -> None:
    if not (build_folder / "bin" / "nearfar-copy").exists():
        pytest.skip("nearfar-copy was not built: there is no nvcc here")
    status, said = request.getfixturevalue(guest)["nearfar-copy --list"]
    assert status in (0, 3), said
    assert "no NVIDIA GPU" in said
