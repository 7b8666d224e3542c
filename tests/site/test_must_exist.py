"""What must exist of what a check asks for: the site's words, the GPUs' model, its references; never the skip's code alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from nearfar.cells import parse
from nearfar.model.prediction import NodeType, load_node_type
from nearfar.question import named
from nearfar.site import must_exist
from nearfar.site.systems import Partition, System
from nearfar.topology import Gpu, Link, Node, NumaNode, Package
from nearfar.verdict.references import ReferenceFile
from tests.conftest import CHECKOUT

PAIRS = list(combinations(range(4), 2))
MODEL = "NVIDIA H200"
MODELS = {MODEL: {"nvlinks": 18, "nvlink_generation": 4}}


def node(peers: dict[tuple[int, int], str] | None = None, lanes: int | None = None, model: str = "A40") -> Node:
    gpus = tuple(
        Gpu(i, f"0000:{i + 1:02x}:00.0", name=model, numa_node=0, package=0, link=Link("pcie", 5, 16, 5, 16), nvlinks=lanes)
        for i in range(4)
    )  # fmt: skip
    return Node("n", (Package(0, (0, 1)),), (NumaNode(0, 0, (0, 1), 1 << 37),), gpus, peers=peers or {})


def said(
    seen: Node, expect: dict[str, Any] | None = None, node_type: NodeType | None = None, **system: Any
) -> dict[tuple[int, int], must_exist.KnownPath]:
    partition = Partition("p", node_type=None if node_type is None else node_type.name, expect=expect or {})
    about = System("s", {"p": partition}, **{"file": Path("s.yaml"), **system})
    return dict(must_exist.links(about, partition, node_type, seen, MODELS))


def h200(**changes: Any) -> NodeType:
    return replace(load_node_type("h200-x4-vm", [CHECKOUT / "site"]), **changes)


SWITCHED = dict.fromkeys(PAIRS, "NV18")


@pytest.mark.parametrize(
    "links, pairs, hard, words",
    [
        (said(node()), [], None, ""),  # PCIe alone: unsupported is a good reason
        (said(h200().node, node_type=h200()), PAIRS, True, "h200-x4-vm.yaml joins GPUs by NV18"),
        (said(h200().node, node_type=h200(unreviewed=True)), PAIRS, False, "h200-x4-vm.yaml"),  # the machine wrote it itself
        (said(h200().node, node_type=h200(), unreviewed=True), PAIRS, False, "h200-x4-vm.yaml"),
        (said(h200().node, {"nvlinks": 0}, h200()), [], None, ""),  # a partition knows better
        (said(node(), {"nvlinks": 18}), PAIRS, True, "s.yaml gives each GPU 18 NVLink lanes"),
        (said(node(model=MODEL)), PAIRS, False, "gives each NVIDIA H200 18 NVLink lanes"),
        (said(node(model=MODEL), {"nvlinks": 0}), [], None, ""),  # a hypervisor that gives no lanes, as the site says
        (said(node(SWITCHED, 18)), PAIRS, False, "the driver shows NV18 between GPUs"),
        (said(node({(0, 1): "NV4", (2, 3): "NV4"}, 4), {"nvlinks": 4}), [(0, 1), (2, 3)], True, "s.yaml"),  # bridges
        # GPU 2 has lost its lanes: the others are behind a switch, and so should it be.
        (said(node({p: "NV18" for p in PAIRS if 2 not in p}, 18), {"nvlinks": 18}), PAIRS, True, "s.yaml"),
        (said(node(), file=None), [], None, ""),
    ],
)  # fmt: skip
def test_which_pairs_nvlink_joins_and_who_says_so(links: Any, pairs: Any, hard: bool | None, words: str) -> None:
    assert list(links) == pairs
    assert {known.link for known in links.values()} == (set() if hard is None else {hard})
    assert all(words in known.who for known in links.values())


def test_a_published_mesh_has_its_pairs_alone() -> None:
    summit = load_node_type("summit", [CHECKOUT / "site"])
    assert set(said(summit.node, node_type=summit)) == set(summit.node.peers)
    assert (0, 3) not in summit.node.peers  # across the packages


@pytest.mark.parametrize(
    "cell, there",
    [
        ("n0:g1", True), ("g1:n0/sm", True), ("n0:g1+g1:n0", True), ("n0:g1/x4", True), ("c0:n0/triad", True),
        ("n0:g1/huge", False), ("n0:g1/pageable", False),  # settings of the machine
        ("n1:g0", False), ("n0:g7", False), ("c0:n1/triad", False),  # not of the node
        ("g0:g2/staged", True), ("g0:g1", True), ("g0:g1@g1/sm", True), ("g0:g2", False), ("g0:g1+g0:g2", False),
    ],
)  # fmt: skip
def test_a_cell_must_be_there_where_each_of_its_paths_must(cell: str, there: bool) -> None:
    links = {(0, 1): must_exist.KnownPath("the site says so", link=True)}
    asked = parse(cell)
    found = must_exist.cells([asked], node(), links)
    assert (asked in found) == there
    direct = all(flow.kind == "peer" and not flow.staged for flow in asked.flows)
    assert not there or found[asked].link == direct, "the device answers for links alone"


ROWS = """\
provenance: {tuned: {date: 2026-11-20, n: 4}}
peer_check: {$index: [$dev.gpu.model], A40: {NODE.write: [25.0, -0.02, null, GB/s]}}
load_balance_check: {saxpy.gpu.load_balance: [0.99, -0.02, null, "1"]}
"""


def test_what_was_tuned_was_there(tmp_path: Path) -> None:
    path = tmp_path / "refs.yaml"
    path.write_text(ROWS)
    file = ReferenceFile(path, ["peer_check", "load_balance_check"])
    asked = [parse("g0:g1"), parse("g0:g1@g1")]
    peers = named("peer_check").figures_of(asked, node(), ())
    found = must_exist.rows(peers, lambda _: "peer_check", [file], node())
    assert {str(cell): known.who for cell, known in found.items()} == {"g0:g1": f"{path}:2 has a value for it"}
    saxpy = named("load_balance_check").figures_of([], node(), ())
    assert set(must_exist.rows(saxpy, lambda _: "load_balance_check", [file], node())) == {"saxpy/gpu"}
