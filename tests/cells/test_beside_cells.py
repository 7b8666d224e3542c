"""The cells that copy and compute at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nearfar import cells
from nearfar.model.prediction import load_node_type
from nearfar.topology import Node
from tests.conftest import CHECKOUT


@pytest.fixture(scope="module")
def keeneland() -> Node:
    return load_node_type("keeneland", [CHECKOUT / "site"]).node


def hiding(node: Node, hidden: int) -> Node:
    return replace(node, gpus=tuple(replace(gpu, visible=gpu.index != hidden) for gpu in node.gpus))


def test_each_gpu_computes_beside_a_copy_each_way_with_its_own_memory(keeneland: Node) -> None:
    found, skips = cells.beside_products(hiding(keeneland, 1))
    assert [str(cell) for cell in found] == [
        "n0:g0+g0:g0/gemm", "g0:n0+g0:g0/gemm", "n1:g2+g2:g2/gemm", "g2:n1+g2:g2/gemm",
    ]  # fmt: skip
    assert [(str(skip.cell), skip.code) for skip in skips] == [
        ("n1:g1+g1:g1/gemm", "denied"), ("g1:n1+g1:g1/gemm", "denied"),
    ]  # fmt: skip


def test_each_numa_node_streams_beside_the_copies_of_its_gpus(keeneland: Node) -> None:
    found, skips = cells.beside_stream(hiding(keeneland, 1))
    assert [str(cell) for cell in found] == ["n0:g0+g0:n0+c0:n0/triad", "n1:g2+g2:n1+c1:n1/triad"]
    assert [(str(skip.cell), skip.code) for skip in skips] == [("n1:g1", "denied")]


def test_without_host_memory_nothing_is_asked(keeneland: Node) -> None:
    bare = replace(hiding(keeneland, 1), numa_nodes=())
    assert cells.beside_products(bare) == cells.beside_stream(bare) == ([], [])
