"""Which cases a node is asked, and where their ranks go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar.model.prediction import load_node_type
from nearfar.mpi.osu import fabric
from nearfar.mpi.osu.benchmarks import BENCHMARKS
from nearfar.mpi.osu.rank_places import layout
from nearfar.mpi.osu.subjects import BESIDE, MOST_RANKS, WITHIN, MpiCase, cases, parse
from nearfar.topology import Node
from tests.conftest import CHECKOUT


def node(name: str) -> Node:
    return load_node_type(name, [CHECKOUT / "site"]).node


KEENELAND = node("keeneland")  # two packages of a NUMA node each, three GPUs, one NIC


@given(
    st.sampled_from(sorted(BENCHMARKS)), st.tuples(st.sampled_from("HD"), st.sampled_from("HD")), st.sampled_from([*WITHIN, *BESIDE]),
    st.integers(2, 512), st.sampled_from(["", "g0", "g0-g1", "g10-g3", "mlx5_0", "eth0"]),
)  # fmt: skip
def test_a_subject_and_back(
    benchmark: str, buffers: tuple[str, str], placement: str, ranks: int, device: str
) -> None:  # fmt: skip
    case = MpiCase(benchmark, buffers, placement, 2 if BENCHMARKS[benchmark].pair else ranks, device)
    assert parse(str(case)) == case


@pytest.mark.parametrize(
    "text",
    ["osu_latency", "osu_latency/H-H/everywhere", "osu_nosuch/H-H/near", "osu_latency/H-H/near/x4", "osu_allreduce/H-H/near",
     "osu_allreduce/H-H/near/x1", "osu_latency/H-X/near", ""],
)  # fmt: skip
def test_what_is_no_subject(text: str) -> None:
    with pytest.raises(NearfarError):
        parse(text)


def test_host_buffers_in_every_placement_that_there_is() -> None:
    found = [str(c) for c in cases(KEENELAND, benchmarks=["osu_latency", "osu_alltoall"]) if not c.on_devices]
    assert found == [
        "osu_latency/H-H/same_numa_node", "osu_latency/H-H/across_packages",
        "osu_alltoall/H-H/same_numa_node/x4", "osu_alltoall/H-H/across_packages/x4",
    ]  # fmt: skip


def test_every_gpu_has_its_turn_near_and_far() -> None:
    found = [c for c in cases(KEENELAND, benchmarks=["osu_bw"]) if c.on_devices]
    for placement in ("near", "off_socket"):
        mine = [c for c in found if c.placement == placement]
        assert {gpu for c in mine if c.buffers == ("D", "D") for gpu in c.gpus} == {0, 1, 2}
        for buffers in (("D", "H"), ("H", "D")):
            assert [c.gpus for c in mine if c.buffers == buffers] == [(0,), (1,), (2,)]
    assert "osu_allreduce/D-D/near/x3" in map(str, cases(KEENELAND, benchmarks=["osu_allreduce"]))


def test_between_nodes_through_every_nic() -> None:
    found = [str(c) for c in cases(KEENELAND, nodes=2, benchmarks=["osu_latency"]) if c.nic]
    name = KEENELAND.nics[0].name
    assert found[:2] == [f"osu_latency/H-H/near/{name}", f"osu_latency/H-H/off_socket/{name}"]
    # The memory of a GPU beside the NIC, and of one of the other package; its rank beside the GPU.
    assert found[2:] == [f"osu_latency/D-D/near/g0-{name}", f"osu_latency/D-D/near/g1-{name}"]
    assert [(case.gpus, case.nic) for case in map(parse, found[2:])] == [((0,), name), ((1,), name)]
    assert not [c for c in cases(KEENELAND, benchmarks=["osu_latency"]) if c.nic]


def test_gpu_memory_with_and_without_gpudirect() -> None:
    found = [case for case in cases(KEENELAND, nodes=2, benchmarks=["osu_bw"]) if case.on_devices and case.nic]
    assert [(case.gpus, case.nic, case.staged) for case in found] == [
        ((gpu,), KEENELAND.nics[0].name, staged) for gpu in (0, 1) for staged in (False, True)
    ]
    assert all(parse(str(case)) == case and len(layout(KEENELAND, case)) == 2 for case in found)


def test_all_nics_at_once() -> None:
    (rails,) = (
        case for case in cases(node("summit"), nodes=2, benchmarks=["osu_bw"]) if (case.nic or "").count("-") > 1
    )
    assert str(rails) == "osu_bw/H-H/near/mlx5_0-mlx5_1-mlx5_2-mlx5_3"
    assert fabric.forcing(rails.nic or "")["UCX_NET_DEVICES"] == "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1"
    assert fabric.not_forced(rails.nic or "", ("mlx5_3", "mlx5_0", "mlx5_1", "mlx5_2")) is None
    assert "and the MPI used mlx5_0" in (fabric.not_forced(rails.nic or "", ("mlx5_0",)) or "")


@pytest.mark.parametrize("name", ["keeneland", "summit", "sierra", "titan", "h200-x4-vm", "pop-four-gpus", "jaguarpf"])
def test_every_case_of_a_node_has_its_places(name: str) -> None:
    machine = node(name)
    for case in cases(machine, nodes=2):
        ranks = layout(machine, case)
        assert [rank.rank for rank in ranks] == list(range(case.ranks))
        taken = [(rank.host, cpu) for rank in ranks for cpu in rank.cpus]
        assert len(set(taken)) == len(taken), f"{case}: a core twice"
        assert case.ranks <= 2 * MOST_RANKS
        assert all(rank.gpu is not None for rank in ranks) == case.on_devices


@pytest.mark.parametrize(
    "subject, numa",
    [
        ("osu_latency/H-H/same_numa_node", [0, 0]),
        ("osu_latency/H-H/across_packages", [0, 1]),
        ("osu_mbw_mr/H-H/across_packages/x4", [0, 0, 1, 1]),
        ("osu_bw/D-D/near/g0-g1", [0, 1]),
        ("osu_bw/D-D/off_socket/g0-g1", [1, 0]),
        ("osu_latency/D-H/near/g2", [1, 1]),
        ("osu_allreduce/D-D/near/x3", [0, 1, 1]),
    ],
)
def test_where_ranks_sit(subject: str, numa: list[int]) -> None:
    ranks = layout(KEENELAND, parse(subject))
    assert [rank.numa_node for rank in ranks] == numa
    assert [rank.memory_nodes for rank in ranks] == [(n,) for n in numa]


def test_each_rank_sees_one_gpu() -> None:
    assert [r.gpu.index for r in layout(KEENELAND, parse("osu_bw/D-D/near/g0-g2")) if r.gpu] == [0, 2]
    # The rank whose buffer is in host memory opens a device all the same.
    assert [r.gpu.index for r in layout(KEENELAND, parse("osu_bw/H-D/near/g1")) if r.gpu] == [1, 1]


def restricted(*cpus: int) -> Node:
    return replace(KEENELAND, allowed_cpus=cpus)


FIRST, SECOND = KEENELAND.numa_nodes[0].cpus, KEENELAND.numa_nodes[1].cpus


@pytest.mark.parametrize(
    "machine, subject, words",
    [
        (KEENELAND, "osu_allreduce/H-H/same_numa_node/x64", "cores"),
        (KEENELAND, "osu_allreduce/H-H/same_numa_node/x8", "NUMA node 0 has fewer cores than the 8 ranks"),
        (restricted(*FIRST), "osu_latency/H-H/across_packages", "cpuset"),
        (restricted(FIRST[0], SECOND[0]), "osu_latency/H-H/same_numa_node", "fewer cores than the 2 ranks"),
        (KEENELAND, "osu_latency/H-H/same_package", "no two cores in the placement same package"),
        (KEENELAND, "osu_bw/D-D/near/g0-g7", "GPU 7 is absent"),
        (KEENELAND, "osu_bw/D-D/on_socket/g0-g1", "no NUMA node of this machine lies on socket to GPU 0"),
        (KEENELAND, "osu_allreduce/D-D/near/x2", "2 ranks and 3 GPUs"),
        (KEENELAND, "osu_latency/H-H/near/mlx5_9", "NIC mlx5_9 is absent"),
        (KEENELAND, "osu_latency/H-H/near", "names none"),
        (replace(KEENELAND, gpus=tuple(replace(g, visible=False) for g in KEENELAND.gpus)), "osu_bw/D-D/near/g0-g1", "hidden"),
    ],
)  # fmt: skip
def test_places_that_a_node_does_not_have(machine: Node, subject: str, words: str) -> None:
    with pytest.raises(NearfarError, match=words):
        layout(machine, parse(subject))


def test_an_unknown_place_is_never_guessed() -> None:
    lost = replace(KEENELAND, gpus=tuple(replace(gpu, numa_node=None, package=None) for gpu in KEENELAND.gpus))
    assert not [case for case in cases(lost) if case.on_devices]
