"""Is this the node that the site's file describes?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nearfar.topology import Gpu, Link, Node, compare
from tests.topology.test_topology import constructed, node_type


def changed(node: Node, index: int, **changes: Any) -> Node:
    """The node with something else about one GPU."""
    return replace(node, gpus=tuple(replace(g, **changes) if g.index == index else g for g in node.gpus))


def without(node: Node, index: int) -> Node:
    """The node without a GPU, the others counted anew, as a real one is when a GPU is gone."""
    left = [g for g in node.gpus if g.index != index]
    new = {g.index: i for i, g in enumerate(left)}
    peers = {(new[a], new[b]): link for (a, b), link in node.peers.items() if a in new and b in new}
    return replace(node, gpus=tuple(replace(g, index=new[g.index]) for g in left), peers=peers)


def items(expected: Node, observed: Node, under_load: Any = None, expectation: Any = None) -> dict[str, str]:
    """Item -> sentence."""
    return {d.subject: d.reason for d in compare(expected, observed, under_load, expectation)}


def h200(count: int = 4) -> Node:
    node = constructed("virtual-machine-4gpus")
    gpus = (replace(g, link=Link("pcie", 1, 16, 5, 16), nvlinks=18) for g in node.gpus[:count])
    return replace(node, gpus=tuple(gpus))


def test_a_node_does_not_differ_from_itself() -> None:
    for name in ("keeneland", "summit", "pop-four-gpus", "titan", "jaguarpf"):
        assert compare(node_type(name), node_type(name)) == []


def test_a_missing_gpu_is_named_at_its_address_and_blames_no_other() -> None:
    node = constructed("eight-gpus-nvswitch-subnuma")
    found = items(node, without(node, 2))
    assert sorted(found) == ["g2", "gpus.count"]
    assert found["g2"].startswith("GPU 2 (NVIDIA H100 80GB HBM3) is missing at 0000:33:00.0")
    assert found["gpus.count"].startswith("7 GPUs on this node, expected 8 (the site's file)")


def test_new_moved_swapped_and_other_gpus() -> None:
    node = h200()
    assert "pci.0000:00:06.0" in items(h200(3), node)
    assert "0000:00:1f.0" in items(node, changed(node, 1, pci="0000:00:1f.0"))["g1.pci"]
    assert "is a NVIDIA H100" in items(node, changed(node, 1, name="NVIDIA H100"))["g1.model"]
    named = replace(node, gpus=tuple(replace(g, uuid=f"GPU-{g.index}") for g in node.gpus))
    swapped = changed(changed(named, 0, uuid="GPU-1"), 1, uuid="GPU-0")
    assert sorted(items(named, swapped)) == ["g0.uuid", "g1.uuid"]
    assert items(named, changed(named, 0, uuid="GPU-of-the-spares")) == {}  # a replaced GPU is the same node type


def test_a_model_is_the_same_with_and_without_its_makers_name() -> None:
    node = h200()
    assert items(node, node, expectation={"gpu_model": "H200"}) == {}


def test_a_lost_gpu_is_there_and_does_not_answer() -> None:
    node = h200()
    found = items(node, changed(node, 2, fault="GPU is lost", name=None, link=Link(), nvlinks=None))
    assert list(found) == ["g2.driver"]
    assert "Xid" in found["g2.driver"]


def test_links_are_judged_under_load() -> None:
    node = h200()
    assert items(node, node) == {}  # generation 1 while idle
    loaded = {g.index: {"index": g.index, "link": {"gen": 5, "width": 16}} for g in node.gpus}
    assert items(node, node, loaded) == {}
    loaded[2] = {"index": 2, "link": {"gen": 3, "width": 8}}
    found = items(node, node, loaded)
    assert sorted(found) == ["g2.link.gen", "g2.link.width"]
    assert "under load at x8, expected x16" in found["g2.link.width"]
    assert "runs under load" in items(node, node, loaded, {"link": {"width": 16}})["g2.link.width"]


def test_what_the_slot_allows_at_most_is_compared_without_load() -> None:
    node = h200()
    slow_slot = changed(node, 0, link=Link("pcie", 1, 8, 4, 8))
    found = items(node, slow_slot)
    assert sorted(found) == ["g0.link.gen", "g0.link.width"]
    assert "at most" in found["g0.link.gen"]
    assert items(slow_slot, slow_slot, None, {"link": {"gen": 5}})  # the file's words come before its node


def test_kinds_of_links() -> None:
    node = node_type("summit")
    pcie = changed(node, 0, link=Link("pcie", 3, 4, 3, 4))
    assert "expected NVLink" in items(node, pcie)["g0.link.kind"]
    assert items(node, changed(node, 0, link=Link())) == {}  # nothing known is no evidence
    assert "x1" in items(node, changed(node, 0, link=Link("nvlink", 2, 1)))["g0.link.width"]


def test_nvlink_lanes() -> None:
    switched = constructed("eight-gpus-nvswitch-subnuma")
    peers = {pair: "NV17" if 3 in pair else link for pair, link in switched.peers.items()}
    found = items(switched, replace(changed(switched, 3, nvlinks=17), peers=peers))
    assert list(found) == ["g3.nvlinks"] and "17 active NVLink lanes, expected 18" in found["g3.nvlinks"]
    direct = node_type("summit")
    broken = changed(changed(direct, 0, nvlinks=3), 1, nvlinks=3)
    found = items(direct, replace(broken, peers={**direct.peers, (0, 1): "NV1"}))
    assert sorted(found) == ["g0-g1", "g0.nvlinks", "g1.nvlinks"]
    assert items(h200(), h200(), None, {"nvlinks": 24}).keys() == {f"g{g}.nvlinks" for g in range(4)}
    old = changed(direct, 0, nvlink_generation=1)
    assert sorted(items(direct, old)) == ["g0.nvlink_generation"]


def test_numa_nodes_and_packages() -> None:
    node = node_type("pop-four-gpus")
    one = replace(node, numa_nodes=tuple(n for n in node.numa_nodes if n.index != 5))
    assert "NUMA node 5 is missing" in items(node, one)["n5"]
    empty = replace(node, numa_nodes=tuple(replace(n, memory=0) if n.index == 5 else n for n in node.numa_nodes))
    assert "memory modules" in items(node, empty)["n5.memory"]
    assert "n5" in items(one, node)
    assert sorted(items(node, node, None, {"numa_nodes": 4, "packages": 1})) == ["numa_nodes", "packages"]
    assert items(node, node, None, {"numa_nodes": list(range(8))}) == {}
    assert "512 GiB" in items(node, node, None, {"memory": 1024 << 30})["memory"]
    assert items(node, node, None, {"memory": 520 << 30}) == {}  # what firmware and kernel keep


def test_gpu_localities() -> None:
    node = node_type("pop-four-gpus")
    assert "is on NUMA node 4" in items(node, changed(node, 1, numa_node=4, package=1))["g1.numa_node"]
    assert "reports none" in items(node, changed(node, 1, numa_node=None, package=None))["g1.numa_node"]


def test_modes_and_counts() -> None:
    node = changed(h200(), 0, mig=True, ecc=False)
    found = items(node, node, None, {"mig": False, "ecc": True, "gpus": 8, "nics": 2})
    assert sorted(found) == ["g0.ecc", "g0.mig", "gpus.count", "nics.count"]
    assert found["nics.count"].startswith("0 NICs on this node, expected 2")


def test_nics_are_known_by_their_address() -> None:
    node = node_type("keeneland")
    assert list(items(node, replace(node, nics=()))) == ["mlx4_0"]
    renamed = replace(node, nics=tuple(replace(nic, name="mlx4_7") for nic in node.nics))
    assert items(node, renamed) == {}
    moved = replace(node, nics=tuple(replace(nic, numa_node=1) for nic in node.nics))
    assert list(items(node, moved)) == ["mlx4_0.numa_node"]


def test_an_expectation_without_a_node_type() -> None:
    bare = Node("a", (), (), gpus=(Gpu(0, "0000:01:00.0"),))
    assert list(items(bare, bare, None, {"gpus": 2})) == ["gpus.count"]
