"""The cells that a kit asks, against those of nearfar's questions, on every node that is known."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from nearfar import question
from nearfar.kit import packing
from nearfar.model.prediction import load_node_type
from nearfar.topology import Node
from tests.conftest import CHECKOUT

AWK = CHECKOUT / "nearfar" / "kit" / "files" / "cells.awk"
SITE = [CHECKOUT / "site"]
#: Every file of ``site/nodes`` with a GPU.
NODES = ("h200-x1-vm", "h200-x2-vm", "h200-x4-vm", "keeneland", "pop-four-gpus", "sierra", "summit", "dl160")
#: What a kit's lists leave out of the question of the same name: it takes path classes between GPUs, which a shell does not know.
PARTLY = ("peer_check", "size_sweep_check")
CHECKS = [line.split("|")[1] for line in packing.question_lines().splitlines()]


def told(node: Node) -> str:
    """What the script tells ``cells.awk`` of a node."""

    def word(number: int | None) -> str:
        return "-" if number is None else str(number)

    lines = [f"memory {each.index} {word(each.package)}" for each in node.host_numa_nodes]
    lines += [f"gpu {gpu.index} {word(gpu.numa_node)} {word(gpu.package)}" for gpu in node.gpus]
    return "".join(f"{line}\n" for line in lines)


def asked(check: str, node: Node, awk: str = "awk") -> list[str]:
    command = [*awk.split(), "-v", f"check={check}", "-f", str(AWK)]
    done = subprocess.run(command, input=told(node), capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.split()


def by_flows(cells: list[str]) -> set[frozenset[str]]:
    """A cell is the set of its flows, in any order."""
    return {frozenset(cell.split("+")) for cell in cells}


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("check", CHECKS)
def test_a_kit_asks_what_the_question_asks(check: str, name: str) -> None:
    node = load_node_type(name, SITE).node
    mine, theirs = asked(check, node), [str(cell) for cell in question.named(check).cells(node)[0]]
    if check == "host_memory_check":
        return  # the script takes the program's own list
    strange = by_flows(mine) - by_flows(theirs)
    assert not strange, f"{name}: the kit asks what {check} does not"
    if check not in PARTLY:
        assert by_flows(mine) == by_flows(theirs), f"{name}: {check}"
    assert len(mine) == len(by_flows(mine)), "a cell is there twice"


@pytest.mark.parametrize("name", NODES)
def test_few_cells_of_a_question_are_left_out(name: str) -> None:
    """Of pairs of GPUs all but rounds, hubs and staged copies of many; of sizes all but further classes of pairs."""
    node = load_node_type(name, SITE).node
    for check in PARTLY:
        mine, theirs = asked(check, node), [str(cell) for cell in question.named(check).cells(node)[0]]
        left = by_flows(theirs) - by_flows(mine)
        assert all(all(flow.startswith("g") and ":g" in flow for flow in cell) for cell in left), f"{name}: {check}"
        lone = {cell for cell in left if len(cell) == 1 and "/staged" not in min(cell)}
        assert len(lone) <= 2, f"{name}: {check} leaves out {lone}"


def test_the_levels_are_those_of_the_questions() -> None:
    lines = [line.split("|") for line in packing.question_lines().splitlines()]
    assert [check for levels, check, *_ in lines if "accept" in levels] == [
        each.name for each in question.asked_at("accept") if each.name in CHECKS
    ]
    assert {check for levels, check, *_ in lines if "quick" in levels} == {
        "quick_check", "topology_check", "host_memory_check",
    }  # fmt: skip
    options = {check: words for _, check, _, words in lines}
    assert options["latency_check"] == "--latency" and options["size_sweep_check"] == "--sizes 1KiB..1GiB"


@pytest.mark.parametrize("awk", ["mawk", "gawk --posix", "busybox awk", "original-awk"])
def test_any_awk_does(awk: str) -> None:
    if shutil.which(awk.split()[0]) is None:
        pytest.skip(f"no {awk.split()[0]} here")
    node = load_node_type("summit", SITE).node
    for check in CHECKS:
        assert asked(check, node, awk) == asked(check, node), f"{check} by {awk}"
