"""What is expected of a collective: the algorithm, the limiting part, sizes, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nearfar import cli
from nearfar.base import NearfarError
from nearfar.collective import COLLECTIVES, ExpectedBandwidth, Fabric, expected, size_in_words
from nearfar.topology import Gpu, Link, Node, NumaNode, Package

NDR = Fabric(8, 50.0)


def node(name: str, gpus: int, lanes: int | None = None, generation: int | None = None, peers: str = "") -> Node:
    """Half of the GPUs at each of two packages; ``peers``: pairs with lanes, ``01:2 23:1``."""
    pairs = {(int(pair[0]), int(pair[1])): f"NV{pair[3:]}" for pair in peers.split()}
    if lanes:
        pairs = {(a, b): f"NV{lanes}" for a in range(gpus) for b in range(a + 1, gpus)}
    return Node(
        hostname="made",
        packages=(Package(0, (0,)), Package(1, (1,))),
        numa_nodes=(NumaNode(0, 0, (0,), 1), NumaNode(1, 1, (1,), 1)),
        gpus=tuple(
            Gpu(
                index, f"0000:{index:02x}:00.0", name=name, numa_node=2 * index // gpus, package=2 * index // gpus,
                link=Link(gen=4, width=16), nvlinks=lanes, nvlink_generation=generation, host_bridge=f"bridge:{index}",
            )
            for index in range(gpus)
        ),
        peers=pairs,
    )  # fmt: skip


H100 = node("NVIDIA H100 80GB HBM3", 8, 18, 4)


def summary(found: ExpectedBandwidth) -> tuple[str, str, str]:
    return found.algorithm, found.transport, found.limit


def test_a_gpu_moves_its_own_part_of_all_gather_too() -> None:
    """Measured on two H100 with 18 lanes: 267 and 270 GB/s at 1 GiB where broadcast and sendrecv have 361 to 365."""
    two = [expected(H100, name, gpus=(0, 1), bytes=1 << 30) for name in ("all_gather", "reduce_scatter")]
    assert [each.typical for each in two] == [pytest.approx(268, rel=0.05)] * 2
    eight, ring = (expected(H100, name, nvls=False).typical for name in ("all_gather", "all_reduce"))
    assert 0.94 < eight / ring < 0.97


def test_in_switch_reduction_is_faster_than_a_ring() -> None:
    assert summary(expected(H100, "all_reduce")) == ("nvls", "nvlink", "g0.out")
    ring = expected(H100, "all_reduce", nvls=False)
    assert ring.algorithm == "ring" and ring.high < expected(H100, "all_reduce").typical
    assert ring.typical == pytest.approx(450 * 0.81)


def test_two_gpus_have_no_in_switch_reduction() -> None:
    assert expected(H100, "all_reduce", [0, 1]).algorithm == "ring"


def test_between_nodes_the_slower_of_nics_and_nvlink_limits() -> None:
    assert summary(expected(H100, "all_reduce", nodes=2, fabric=NDR)) == ("nvls_tree", "ib_gdr", "g0.out")
    four = expected(H100, "all_reduce", nodes=2, fabric=Fabric(4, 50.0))
    assert summary(four) == ("nvls_tree", "ib_gdr", "nic") and four.typical < 370
    slow = expected(H100, "all_gather", nodes=2, fabric=Fabric(1, 12.5, "socket"))
    assert summary(slow) == ("ring", "socket", "nic") and slow.typical == pytest.approx(10)
    assert expected(H100, "all_reduce", [0], nodes=2, fabric=NDR).transport == "ib_gdr"


def test_without_gpudirect_host_memory_limits_the_nics() -> None:
    direct = expected(H100, "all_gather", nodes=2, fabric=Fabric(4, 50.0))
    through = expected(H100, "all_gather", nodes=2, fabric=Fabric(4, 50.0, gpudirect=False))
    assert through.typical < 0.5 * direct.typical and (through.transport, through.limit) == ("ib", "g0.d2h")


def test_rings_over_direct_lanes_use_all_that_close_a_ring() -> None:
    square = node("Tesla V100-SXM2-16GB", 4, generation=2, peers="01:2 12:2 23:2 03:2 02:1 13:1")
    assert expected(square, "all_reduce").typical == pytest.approx(4 * 25.78125 * 0.81, rel=0.01)
    pairs = node("NVIDIA A40", 4, generation=3, peers="01:4 23:4")
    assert expected(pairs, "all_reduce", [0, 1]).typical == pytest.approx(4 * 14.0625 * 0.81)
    assert summary(expected(pairs, "all_reduce")) == ("ring", "shm", "g0.d2h")


def test_peers_are_used_below_a_switch_unless_told_otherwise() -> None:
    plain = node("NVIDIA L40S", 4)
    below = replace(
        plain, gpus=tuple(replace(gpu, uplinks=(f"port:{gpu.index}", f"switch:{gpu.package}")) for gpu in plain.gpus)
    )
    assert expected(below, "all_reduce", [0, 1]).transport == "pcie"
    mixed = expected(below, "all_reduce")
    assert mixed.transport == "shm" and mixed.typical == expected(plain, "all_reduce").typical
    told = expected(below, "all_reduce", transport="shm")
    assert told.limit == "switch:switch:0.up" and told.typical == pytest.approx(mixed.typical / 2)


def test_a_maker_that_refuses_peers_leaves_host_memory() -> None:
    geforce = node("NVIDIA GeForce RTX 4090", 4)
    assert summary(expected(geforce, "all_reduce")) == ("ring", "shm", "g0.d2h")
    assert expected(geforce, "all_reduce", transport="pcie").typical > 1.2 * expected(geforce, "all_reduce").typical
    across = expected(geforce, "all_reduce", transport="pcie")
    assert across.typical < expected(geforce, "all_reduce", [0, 1], transport="pcie").typical


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_bandwidth_rises_with_size_to_that_of_large_ones(collective: str) -> None:
    sizes = [1 << 10, 1 << 20, 1 << 28, 1 << 34, None]
    rates = [expected(H100, collective, bytes=size).typical for size in sizes]
    assert rates == sorted(rates) and rates[0] < 0.01 * rates[-1]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"collective": "allreduce"}, "did you mean 'all_reduce'"),
        ({"gpus": [0, 9]}, "has no g9; its GPUs are g0, g1"),
        ({"gpus": [0, 0]}, "one is listed twice"),
        ({"gpus": [0]}, "needs two GPUs"),
        ({"bytes": 0}, "give a size above 0"),
        ({"nodes": 2}, "the network between them is not known"),
        ({"transport": "tape"}, "it is nvlink, pcie or shm"),
        ({"algorithm": "star"}, "all_reduce there uses ring, nvls"),
        ({"nodes": 2, "fabric": Fabric(1, 10, "token ring")}, "it is infiniband, roce"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, object], says: str) -> None:
    with pytest.raises(NearfarError, match=says):
        expected(**{"node": H100, "collective": "all_reduce", **changes})  # type: ignore[arg-type]


def test_peers_over_pcie_ignore_nvlink() -> None:
    assert expected(H100, "all_reduce", transport="pcie").typical < 32


def test_of_a_slow_way_between_nodes_its_own_range_holds() -> None:
    one = expected(H100, "all_reduce", transport="shm")
    two = expected(H100, "all_reduce", transport="shm", nodes=2, fabric=NDR)
    assert two.limit == one.limit and two.low / two.typical == one.low / one.typical


@pytest.mark.parametrize(
    ("size", "words"), [(1, "1 byte"), (3 << 19, "1536 KiB"), (1 << 30, "1 GiB"), (10**9, "1000000000 bytes")]
)
def test_sizes_in_words_are_exact(size: int, words: str) -> None:
    assert size_in_words(size) == words


def test_lanes_that_a_node_lacks_are_refused() -> None:
    with pytest.raises(NearfarError, match="no nvlink between g0, g1"):
        expected(node("NVIDIA GeForce RTX 4090", 2), "all_reduce", transport="nvlink")


def test_the_command_says_bandwidth_range_and_limit(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["predict", "--node", "h200-x4-vm", "--collective", "all_reduce"]
    assert cli.main([*ask, "--gpus", "0,1,2", "--bytes", "1G"]) == 0
    printed = capsys.readouterr().out
    assert "all_reduce, 3 GPUs, 1 GiB: " in printed and "ring over NVLink, limited by g" in printed
    assert cli.main([*ask, "--transport", "shm", "--nodes", "2", "--nics", "8x400"]) == 0
    assert "ring over host memory and NICs with GPUDirect" in capsys.readouterr().out
    assert cli.main([*ask, "--nodes", "2", "--nics", "2x400", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["limit"], document["nodes"]) == ("nic", 2)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--collective", "all_gather", "--gpus", "0;1"], "give numbers of GPUs"),
        (["--collective", "all_gather", "--bytes", "1X"], "'1X' is not a size"),
        (["--collective", "all_gather", "--nodes", "2"], "describe the NICs between them with --nics"),
        (["--collective", "all_gather", "--nodes", "2", "--nics", "0x400"], "give their number and Gbit/s"),
        (["--collective", "all_gather", "g0:g1"], "leave out cells"),
        (["--collective", "all_gather", "--gpus", ""], "give numbers of GPUs"),
        (["--collective", "all_gather", "--bytes", "9" * 400], "is not a size"),
        (["--collective", "all_gather", "--nodes", "-2", "--nics", "8x400"], "--nodes -2: give a number from 1"),
        (["--collective", "all_gather", "--nodes", "1" * 400, "--nics", "8x400"], "give a number from 1"),
        (["--collective", "all_gather", "--nics", "8x400"], "--nics goes with --nodes"),
        (["--collective", "all_gather", "--network", "efa"], "--network goes with --nodes"),
        (["--bytes", "1G"], "--bytes goes with --collective"),
    ],
)
def test_the_command_refuses_in_one_line(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["predict", "--node", "h200-x4-vm", *options]) == 2
    printed = capsys.readouterr().err
    assert says in printed and printed.count("\n") == 1
