"""The cells that a kit asks, against those of nearfar's questions, on every node that is known."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nearfar import question
from nearfar.kit import packing
from nearfar.model.prediction import load_node_type
from tests.conftest import CHECKOUT

SITE = [CHECKOUT / "site"]
#: Every file of ``site/nodes`` with a GPU.
NODES = ("h200-x1-vm", "h200-x2-vm", "h200-x4-vm", "keeneland", "pop-four-gpus", "sierra", "summit", "dl160")
#: What a kit's lists leave out of the question of the same name: it takes path classes between GPUs, which the programs do not know.
PARTLY = ("peer_check", "size_sweep_check")
CHECKS = [line.split("|")[1] for line in packing.question_lines().splitlines()]


def asked(build: Path, check: str, name: str) -> list[str]:
    program = build / "bin" / "emulated-copy"
    if not program.exists():
        pytest.skip("no headers of CUDA: the emulated programs are not built")
    env = os.environ | {"HWLOC_XMLFILE": str(SITE[0] / "nodes" / f"{name}.xml"), "HWLOC_THISSYSTEM": "1"}
    command = [str(program), "--set", check, "--list"]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=30).stdout.split()


def by_flows(cells: list[str]) -> set[frozenset[str]]:
    """A cell is the set of its flows, in any order."""
    return {frozenset(cell.split("+")) for cell in cells}


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("check", CHECKS)
def test_a_kit_asks_what_the_question_asks(build_folder: Path, check: str, name: str) -> None:
    mine = asked(build_folder, check, name)
    theirs = by_flows([str(cell) for cell in question.named(check).cells(load_node_type(name, SITE).node)[0]])
    assert len(mine) == len(by_flows(mine)), "a cell is there twice"
    if check == "host_memory_check":
        return  # by cores, and these are this machine's
    assert not by_flows(mine) - theirs, f"{name}: the kit asks what {check} does not"
    left = theirs - by_flows(mine)
    if check not in PARTLY:
        assert not left, f"{name}: {check}"
    # Of pairs of GPUs all but rounds, hubs and staged copies of many; of sizes all but further classes of pairs.
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
    options = {check: words for _, check, words in lines}
    assert options["latency_check"] == "--latency" and options["size_sweep_check"] == "--sizes 1KiB..1GiB"
