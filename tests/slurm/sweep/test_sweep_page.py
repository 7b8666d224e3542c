"""A sweep's page leads from a node that is not well to the board: by PCI address and serial number."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base import Finding
from nearfar.slurm.results import CheckResult, NodeResult
from nearfar.slurm.sweep.merge import suspect_boards
from nearfar.verdict import MeasuredGpu

BOARDS = tuple(
    MeasuredGpu(index, f"0000:{0x1B + 0x10 * index:02x}:00.0", "NVIDIA H200", f"GPU-{index}", None if index == 0 else f"16502{index}")
    for index in range(4)
)  # fmt: skip


def result(*found: Finding, blamed: tuple[str, ...] = ()) -> NodeResult:
    gpus = {"sole.g2_n0": (2,)}
    check = CheckResult("host_device_check", "FAIL", found, Path("x"), (), gpus=gpus, boards=BOARDS)
    return NodeResult(
        nodes=("n1",), hostname="n1", level="nightly", sweep="s", started="", ended="", folder=Path("x"), run="r", system="s",
        verdict="FAIL", reason=None, checks=(check,), missing=(), interrupted=False, blamed=blamed,
    )  # fmt: skip


def finding(what: str, verdict: str = "FAIL") -> Finding:
    return Finding(what, verdict, what)


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (result(finding("sole.g2_n0")), ["GPU 2 at 0000:3b:00.0, serial 165022"]),
        (result(finding("g2.link.width"), finding("g2:n0")), ["GPU 2 at 0000:3b:00.0, serial 165022"]),
        (result(finding("g1:n0"), finding("g2:n0")), []),
        (result(finding("g1:n0", "DEGRADED"), finding("g2:n0")), ["GPU 2 at 0000:3b:00.0, serial 165022"]),
        (result(finding("g1:n0"), finding("g2:n0"), blamed=("g0.link",)), ["GPU 0 at 0000:1b:00.0, GPU-0"]),
        (result(finding("n0.memory")), []),
    ],
)
def test_the_board_is_named_where_findings_agree_on_one(read: NodeResult, said: list[str]) -> None:
    assert suspect_boards(read, "FAIL") == said
    assert suspect_boards(read, "PASS") == []
