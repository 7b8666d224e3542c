"""Where ranks belong: on published nodes, and on constructed ones that ask something unusual."""

from __future__ import annotations

import doctest
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearfar.binding
from nearfar.base.errors import NearfarError
from nearfar.binding import FORMS, SIDES, Layout, Placement, cores_of, explain, pairs, place, render
from nearfar.topology import Node, parse_cpu_list, parse_hwloc_xml

CHECKOUT = Path(__file__).resolve().parents[2]


def published(name: str) -> Node:
    return parse_hwloc_xml((CHECKOUT / "site" / "nodes" / f"{name}.xml").read_text())


def constructed(name: str) -> Node:
    return parse_hwloc_xml((CHECKOUT / "tests" / "data" / "topologies" / f"constructed-{name}.xml").read_text())


def cpus(placements: list[Placement]) -> list[tuple[int, ...]]:
    return [p.cpus for p in placements]


def test_the_example_of_the_package() -> None:
    assert doctest.testmod(nearfar.binding).failed == 0


def test_three_gpus_on_two_packages_get_as_many_cores_each() -> None:
    ranks = place(published("keeneland"), Layout())
    assert cpus(ranks) == [(0, 2, 4), (1, 3, 5), (7, 9, 11)]
    assert [(p.gpu, p.nic, p.nic_path, p.numa_node, p.memory_nodes, p.path) for p in ranks] == [
        (0, "mlx4_0", "PHB", 0, (0,), "near"),
        (1, "mlx4_0", "SYS_off", 1, (1,), "near"),
        (2, "mlx4_0", "SYS_off", 1, (1,), "near"),
    ]


def test_hardware_threads_of_one_core_never_go_to_two_ranks() -> None:
    ranks = place(published("summit"), Layout(threads_per_rank=7))
    assert [p.gpu for p in ranks] == [0, 1, 2, 3, 4, 5]
    assert ranks[0].cpus == tuple(range(0, 28, 4))
    assert ranks[0].siblings == tuple(c for c in range(28) if c % 4)
    assert ranks[3].cpus == tuple(range(88, 116, 4))
    assert [p.memory_nodes for p in ranks] == [(0,)] * 3 + [(1,)] * 3
    taken = [cpu for p in ranks for cpu in p.cpus + p.siblings]
    assert len(taken) == len(set(taken)) == 6 * 7 * 4


def test_nics_that_are_equally_near_are_shared_out() -> None:
    assert [p.nic for p in place(published("summit"), Layout())] == [
        "mlx5_0", "mlx5_1", "mlx5_0", "mlx5_2", "mlx5_3", "mlx5_2",
    ]  # fmt: skip
    assert [p.nic for p in place(constructed("eight-gpus-nvswitch-subnuma"), Layout())] == [
        f"mlx5_{i}" for i in range(8)
    ]
    assert [(p.nic, p.nic_path) for p in place(constructed("nic-behind-gpu-switch"), Layout())] == [
        ("mlx5_0", "PIX"), ("mlx5_0", "PXB"),
    ]  # fmt: skip


def test_several_numa_nodes_a_package() -> None:
    ranks = place(constructed("four-numa-a-package"), Layout(threads_per_rank=4))
    assert [(p.numa_node, p.cpus) for p in ranks] == [
        (0, (0, 1, 2, 3)), (2, (24, 25, 26, 27)), (4, (48, 49, 50, 51)), (6, (72, 73, 74, 75)),
    ]  # fmt: skip


def test_near_the_nic_and_split() -> None:
    node = constructed("four-numa-a-package")
    near_nic = place(node, Layout(near="nic", threads_per_rank=2))
    assert [(p.nic, p.numa_node, p.path) for p in near_nic] == [
        ("mlx5_0", 2, "on_socket"), ("mlx5_0", 2, "near"), ("mlx5_1", 6, "on_socket"), ("mlx5_1", 6, "near"),
    ]  # fmt: skip
    split = place(node, Layout(near="split", threads_per_rank=3))
    assert [(p.mpi_cpus, p.gpu_cpus, p.memory_nodes) for p in split] == [
        ((24,), (0, 1), (0, 2)), ((25,), (26, 27), (2,)), ((72,), (48, 49), (4, 6)), ((73,), (74, 75), (6,)),
    ]  # fmt: skip
    assert all(p.cpus == tuple(sorted(p.mpi_cpus + p.gpu_cpus)) for p in split)


def test_more_ranks_than_cores_near_the_gpu_go_to_the_next_nearest() -> None:
    ranks = place(published("keeneland"), Layout(ranks_per_gpu=4))
    assert [len(p.cpus) for p in ranks] == [1] * 12
    assert [p.path for p in ranks] == ["near"] * 10 + ["off_socket"] * 2
    assert len({p.cpus for p in ranks}) == 12


def test_a_rank_wider_than_what_is_left_anywhere_spans_numa_nodes() -> None:
    last = place(published("keeneland"), Layout(threads_per_rank=4))[2]
    assert (last.cpus, last.numa_node, last.memory_nodes, last.path) == ((8, 9, 10, 11), None, (0, 1), "spread")


def test_fewer_cores_than_ranks_is_an_error_unless_they_may_be_shared() -> None:
    node = published("keeneland")
    with pytest.raises(NearfarError, match=r"keeneland has 12 cores to give, and 15 ranks need 15: .*--oversubscribe"):
        place(node, Layout(ranks_per_gpu=5))
    ranks = place(node, Layout(ranks_per_gpu=5, oversubscribe=True))
    assert {p.path for p in ranks} == {"near"}
    assert [p.shared for p in ranks] == [False] * 5 + [True] * 4 + [False] * 2 + [True] * 4


def test_unknown_locality_is_never_guessed() -> None:
    ranks = place(constructed("unknown-locality"), Layout(ranks_per_gpu=2))
    assert [(p.path, p.cpus) for p in ranks] == [("unknown", (0, 1, 2, 3)), ("unknown", (4, 5, 6, 7))]
    one = place(published("titan"), Layout())[0]
    assert (one.cpus, one.path, one.numa_node, one.memory_nodes) == (tuple(range(16)), "unknown", None, (0, 1))


def test_gpus_of_known_place_are_served_before_those_of_unknown() -> None:
    node = constructed("restricted-cpuset")
    node = replace(
        node, allowed_cpus=None, allowed_numa_nodes=None,
        gpus=(replace(node.gpus[0], numa_node=None, package=None), node.gpus[1]),
    )  # fmt: skip
    unknown, known = place(node, Layout(threads_per_rank=4))
    assert (known.cpus, known.path) == ((4, 5, 6, 7), "near")
    assert (unknown.cpus, unknown.path) == ((0, 1, 2, 3), "unknown")


def test_a_virtual_machine_with_one_numa_node_is_near_everything() -> None:
    ranks = place(constructed("virtual-machine-4gpus"), Layout())
    assert {p.path for p in ranks} == {"sole"}


def test_a_cpuset_that_hides_the_wished_node_names_it() -> None:
    node = constructed("restricted-cpuset")
    with pytest.raises(NearfarError, match=r"allows no CPU of n0, which g0 is attached to \(allowed: CPUs 6-7 of n1\)"):
        place(node, Layout())
    assert place(node, Layout(gpus=(1,)))[0].cpus == (6, 7)
    with pytest.raises(NearfarError, match="no CPU of n0, where a rank is wished"):
        place(node, Layout(numa_nodes=(0, 1)))
    node = replace(node, allowed_cpus=None)
    with pytest.raises(NearfarError, match=r"forbids the memory of n0, .*\(allowed: 1\)"):
        place(node, Layout())


def test_only_the_allowed_threads_of_a_core_are_used() -> None:
    node = replace(published("summit"), allowed_cpus=parse_cpu_list("2-3,5,88-91"))
    ranks = place(node, Layout(gpus=(0, 3)))
    assert [(p.cpus, p.siblings) for p in ranks] == [((2,), (3,)), ((88,), (89, 90, 91))]


def test_gpu_memory_is_no_host_memory_and_memory_without_cpus_holds_no_rank() -> None:
    assert [p.memory_nodes for p in place(constructed("grace-hopper"), Layout(threads_per_rank=8))] == [(0,), (1,)]
    node = constructed("cpuless-memory")
    assert [p.memory_nodes for p in place(node, Layout(threads_per_rank=2))] == [(0,), (1,)]
    with pytest.raises(NearfarError, match="n2 has no CPUs, so no rank can run on it; these have CPUs: n0, n1, n3"):
        place(node, Layout(numa_nodes=(2,)))
    assert place(node, Layout(numa_nodes=(3,)))[0].memory_nodes == (0,), "n3 has no memory; n0 is in its package"


def test_host_ranks_in_every_relation() -> None:
    node = constructed("four-numa-a-package")
    assert pairs(node) == {"same_numa_node": (0, 0), "same_package": (0, 1), "across_packages": (0, 4)}
    assert pairs(published("titan")) == {"same_numa_node": (0, 0), "same_package": (0, 1)}
    assert pairs(constructed("restricted-cpuset")) == {"same_numa_node": (1, 1)}
    two = place(node, Layout(numa_nodes=pairs(node)["same_numa_node"], threads_per_rank=1, nic="mlx5_1"))
    assert [(p.rank, p.gpu, p.nic, p.cpus) for p in two] == [(0, None, "mlx5_1", (0,)), (1, None, "mlx5_1", (1,))]


@pytest.mark.parametrize(
    "node, layout, words",
    [
        ("jaguarpf", Layout(), "jaguarpf has no GPUs: name the NUMA node of each rank"),
        ("keeneland", Layout(gpus=(3,)), "no GPU g3; it has: g0, g1, g2"),
        ("keeneland", Layout(gpus=()), "no GPU: name those"),
        ("keeneland", Layout(gpus=(1, 1)), "a GPU is named twice"),
        ("keeneland", Layout(nic="mlx5_0"), "no NIC mlx5_0; it has: mlx4_0"),
        ("sierra", Layout(near="nic"), "g0 has no NIC to be near to, it shows no NIC"),
        ("keeneland", Layout(near="cpu"), "near 'cpu': expected one of gpu, nic, split"),
        ("keeneland", Layout(near="split", threads_per_rank=1), "at least 2 threads"),
        ("keeneland", Layout(ranks_per_gpu=0), "0 ranks per GPU"),
        ("keeneland", Layout(threads_per_rank=0), "0 threads per rank"),
        ("keeneland", Layout(numa_nodes=(0,), near="nic"), "ranks on given NUMA nodes are near those"),
        ("keeneland", Layout(numa_nodes=(0,), ranks_per_gpu=2), "ranks on given NUMA nodes have no GPU"),
        ("keeneland", Layout(numa_nodes=(0, 1, 1), gpus=(0, 1)), "3 NUMA nodes for 2 ranks"),
        ("keeneland", Layout(numa_nodes=(0, 0, 1), threads_per_rank=4), "NUMA node 0 has fewer cores than the 2 ranks"),
        ("keeneland", Layout(numa_nodes=(0, None, 7)), "n7 is not there"),
        ("keeneland", Layout(numa_nodes=()), "no rank"),
        ("keeneland", Layout(numa_nodes=(7,)), "n7 is not there"),
        (
            "keeneland",
            Layout(threads_per_rank=7, oversubscribe=True),
            "7 threads are more than the 6 cores of n0, which g0",
        ),
        ("keeneland", Layout(threads_per_rank=7), "12 cores to give, and 3 ranks need 21"),
    ],
)
def test_what_cannot_be_had_is_one_clear_line(node: str, layout: Layout, words: str) -> None:
    with pytest.raises(NearfarError, match=words) as caught:
        place(published(node), layout)
    assert "\n" not in str(caught.value)


def test_a_hidden_gpu_is_left_out_and_refused_by_name() -> None:
    node = published("keeneland")
    node = replace(node, gpus=(replace(node.gpus[0], visible=False, fault="GPU is lost"), *node.gpus[1:]))
    assert [p.gpu for p in place(node, Layout())] == [1, 2]
    with pytest.raises(NearfarError, match="g0 of keeneland is not visible to this process: GPU is lost"):
        place(node, Layout(gpus=(0,)))


NODES = [published(name) for name in ("keeneland", "summit", "sierra", "titan", "jaguarpf", "pop-four-gpus")] + [
    constructed(name)
    for name in ("nic-behind-gpu-switch", "eight-gpus-nvswitch-subnuma", "four-numa-a-package", "grace-hopper",
                 "restricted-cpuset", "unknown-locality", "cpuless-memory", "virtual-machine-4gpus")
]  # fmt: skip
LAYOUTS = st.builds(
    Layout,
    ranks_per_gpu=st.integers(1, 9),
    threads_per_rank=st.none() | st.integers(1, 12),
    near=st.sampled_from(SIDES),
    gpus=st.none() | st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True).map(tuple),
    oversubscribe=st.booleans(),
) | st.builds(
    Layout,
    threads_per_rank=st.none() | st.integers(1, 12),
    numa_nodes=st.lists(st.none() | st.integers(0, 3), min_size=1, max_size=6).map(tuple),
    oversubscribe=st.booleans(),
)


@given(node=st.sampled_from(NODES), layout=LAYOUTS)
@settings(max_examples=200, deadline=None)
def test_any_layout_is_placed_by_the_rules_or_refused(node: Node, layout: Layout) -> None:
    try:
        ranks = place(node, layout)
    except NearfarError as error:
        assert "\n" not in str(error)
        return
    assert [p.rank for p in ranks] == list(range(len(ranks)))
    usable = {core[0] for numa in node.numa_nodes for core in cores_of(node, numa.index)}
    memories = {
        n.index for n in node.host_numa_nodes if node.allowed_numa_nodes is None or n.index in node.allowed_numa_nodes
    }
    for form in FORMS:
        render(form, node, ranks, explain(node, layout, ranks))
    ranks = [p for p in ranks if not p.free]
    for p in ranks:
        assert p.cpus and set(p.cpus) <= usable, "one allowed hardware thread of each core"
        assert p.memory_nodes and set(p.memory_nodes) <= memories
        assert set(p.cpus) == set(p.mpi_cpus) | set(p.gpu_cpus)
        if layout.threads_per_rank and not p.shared:
            assert len(p.cpus) == layout.threads_per_rank
        if layout.near == "gpu" and layout.oversubscribe and p.gpu is not None:
            assert p.path in ("near", "sole", "unknown"), "who shares cores stays beside its GPU"
    taken = Counter(cpu for p in ranks for cpu in p.cpus)
    assert {p.rank for p in ranks if any(taken[cpu] > 1 for cpu in p.cpus)} == {p.rank for p in ranks if p.shared}
    assert layout.oversubscribe or max(taken.values(), default=1) == 1


def test_fewer_ranks_than_gpus_say_which_are_idle_and_what_spreads_them() -> None:
    node = published("summit")

    def idle(*gpus: int) -> list[str]:
        layout = Layout(gpus=gpus)
        return [sentence for sentence in explain(node, layout, place(node, layout)) if "no rank" in sentence]

    assert idle(0, 1) == [
        "g2, g3, g4, g5: no rank. --gpus 0,3 spreads 2 GPUs over the packages, then over NUMA nodes and PCIe bridges."
    ]
    # As good as the choice that would be proposed: nothing is proposed.
    assert idle(1, 4) == ["g0, g2, g3, g5: no rank."]
    assert idle(*range(6)) == []
