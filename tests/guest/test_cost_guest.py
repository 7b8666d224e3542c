"""The schemes of ``nearfar cost`` on a real kernel with several NUMA nodes: the binding in effect of every rank, by hwloc, and that the
wrapper reads back the same."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from nearfar.binding import scheme_names

from . import schemes
from .conftest import Outcomes

pytestmark = pytest.mark.guest

#: Scheme → of each rank its CPUs and its memory policy. Two NUMA nodes, CPUs 0-1 and 2-3; GPU 0 hangs on node 1.
TWO = {
    "right": [({2}, "bind:1"), ({0}, "bind:0")],
    "wrong": [({0}, "bind:0"), ({2}, "bind:1")],
    "interleaved": [({2}, "interleave:0-1"), ({0}, "interleave:0-1")],
    "near-near": [({2}, "bind:1"), ({0}, "bind:0")],
    "near-far": [({2}, "bind:0"), ({0}, "bind:1")],
    "far-near": [({0}, "bind:1"), ({2}, "bind:0")],
    "far-far": [({0}, "bind:0"), ({2}, "bind:1")],
    "shuffled": [({2}, "bind:1"), ({0}, "bind:0")],
    "task-per-core": [({0}, "bind:0"), ({1}, "bind:0"), ({2}, "bind:1"), ({3}, "bind:1")],
    "task-per-two-gpus": [({2}, "bind:1")],
    "0-1": [({0}, "bind:0"), ({2}, "bind:1")],
    "1-1": [({2}, "bind:1"), ({3}, "bind:1")],
    "1-free": [({2}, "bind:1"), ({0, 1, 2, 3}, "default")],
}
GPUS = {
    "right": ["0", "1"],
    "shuffled": ["1", "0"],
    "task-per-core": ["1", "1", "0", "0"],
    "task-per-two-gpus": ["0,1"],
}
#: Without GPUs; node 2 has no memory, whose ranks take that of node 3, and node 3 has no CPUs.
FOUR = {
    "right": [({0}, "bind:0"), ({1}, "bind:1")],
    "wrong": [({0}, "bind:3"), ({1}, "bind:3")],
    "interleaved": [({0}, "interleave:0-1,3"), ({1}, "interleave:0-1,3")],
    "far-near": [({2}, "bind:0"), ({3}, "bind:1")],
    "1-free": [({1}, "bind:1"), ({0, 1, 2, 3}, "default")],
    "task-per-core": [({0}, "bind:0"), ({1}, "bind:1"), ({2}, "bind:3"), ({3}, "bind:3")],
}


def said(outcomes: Outcomes) -> dict[str, list[dict[str, Any]]]:
    """Of each rank of each scheme: what hwloc says (``cpus``, ``memory``), and the wrapper's own account."""
    code, text = outcomes[schemes.COMMAND]
    assert code == 0, text
    found: dict[str, list[dict[str, Any]]] = {}
    for part in text.split("@ ")[1:]:
        head, cpus, memory, account = part.splitlines()[:4]
        nodes, policy = re.fullmatch(r"(0x[0-9a-f,x]+) \((\w+)\)", memory).groups()  # type: ignore[union-attr]
        rank = {
            "cpus": bits(cpus),
            "policy": policy,
            "nodes": bits(nodes),
            "account": ast.literal_eval(account.removeprefix("account ")),
        }
        found.setdefault(head.split()[0], []).append(rank)
    return found


def bits(mask: str) -> set[int]:
    """The numbers in hwloc's hexadecimal mask."""
    value = int(mask.replace(",0x", ""), 16)
    return {bit for bit in range(value.bit_length()) if value >> bit & 1}


def check(rank: dict[str, Any], cpus: set[int], memory: str) -> None:
    policy, _, nodes = memory.partition(":")
    account = rank["account"]
    assert rank["cpus"] == cpus == set(account["cpus"])
    assert account["policy"] == policy
    if policy == "default":
        assert account["memory"] == []
        return
    wanted = {n for part in nodes.split(",") for n in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}
    assert rank["policy"] == policy and rank["nodes"] == wanted == set(account["memory"])


@pytest.mark.parametrize("scheme", TWO)
def test_two_numa_nodes(two_nodes: Outcomes, scheme: str) -> None:
    ranks = said(two_nodes)[scheme]
    assert len(ranks) == len(TWO[scheme])
    for rank, wanted in zip(ranks, TWO[scheme]):
        check(rank, *wanted)
    if scheme in GPUS:
        assert [rank["account"]["gpus"] for rank in ranks] == GPUS[scheme]


@pytest.mark.parametrize("scheme", FOUR)
def test_four_numa_nodes(four_nodes: Outcomes, scheme: str) -> None:
    ranks = said(four_nodes)[scheme]
    assert len(ranks) == len(FOUR[scheme])
    for rank, wanted in zip(ranks, FOUR[scheme]):
        check(rank, *wanted)


def test_what_does_not_apply_is_left_out_with_its_reason() -> None:
    """Two ranks find no two cores on a node of one."""
    left_out = {each.name: each.left_out for each in schemes.planned(schemes.FOUR) if each.left_out}
    assert set(left_out) == {"1-1", "shuffled", "task-per-two-gpus"} and "fewer than two GPUs" in left_out["shuffled"]
    assert scheme_names.SCHEMES.keys() - set(left_out) <= {each.name for each in schemes.planned(schemes.FOUR)}
