"""``nearfar import`` of nccl-tests' output: judged by the prediction, with what NCCL did and why it is slow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli, foreign
from nearfar.model.prediction import load_node_type
from nearfar.nccl import NcclCase, expected_of
from tests.conftest import CHECKOUT

NODE = load_node_type("h200-x4-vm", [CHECKOUT / "site"])
HEAD = """# nccl-tests version 2.13.8
# nThread 1 nGpus {gpus} minBytes 268435456 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
{ranks}
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
   268435456      67108864     float     sum      -1   2514.0  106.7  {a:.2f}      0   2514.0  106.7  {a:.2f}      0
  1073741824     268435456     float     sum      -1   9988.0  107.5  {b:.2f}      0   9988.0  107.5  {b:.2f}      0
# Out of bounds values : 0 OK
"""


@pytest.fixture(autouse=True)
def in_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path / "state"))


def verdict(
    tmp_path: Path, busbw: float, log: str = "", name: str = "all_reduce", node: str = "h200-x4-vm"
) -> dict[str, Any]:
    """The verdict on the collectives of a file with two sizes."""
    ranks = "\n".join(
        f"#  Rank {rank} Group 0 Pid 1 on node7 device {rank} [0x{rank + 10:02x}] NVIDIA H200" for rank in range(4)
    )
    text = (
        f"$ ./build/{name}_perf -b 256M -e 1G -f 2 -g 4\n"
        + HEAD.format(gpus=4, ranks=ranks, a=busbw * 0.98, b=busbw)
        + log
    )
    file = tmp_path / "log.txt"
    file.write_text(text)
    (run,) = foreign.import_outputs([file], node)
    judged: dict[str, Any] = json.loads((run.folder / "node7/nccl_check/verdict.json").read_text())
    return judged


def said(judged: dict[str, Any]) -> str:
    return "\n".join([*judged["reasons"], *(finding["reason"] for finding in judged["findings"])])


def test_what_is_below_the_range_says_what_nccl_did_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    healthy = expected_of(NcclCase("all_reduce", 4), 1 << 30, NODE)
    assert healthy is not None
    log = "x NCCL INFO NCCL version 2.21.5+cuda12.4\nx NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n" + "".join(
        f"x NCCL INFO Channel 00 : {a}[{a}] -> {(a + 1) % 4}[{(a + 1) % 4}] via SHM/direct/direct\n" for a in range(4)
    )
    assert verdict(tmp_path, healthy.typical)["verdict"] == "PASS"
    slow = verdict(tmp_path, healthy.low * 0.95)
    assert slow["verdict"] == "DEGRADED" and "for 4 × NVIDIA H200 without NVLS" in said(slow), said(slow)
    broken = verdict(tmp_path, healthy.typical * 0.3, log)
    assert broken["verdict"] == "FAIL", said(broken)
    assert cli.main(["import", str(tmp_path / "log.txt"), "--node", "h200-x4-vm"]) == 1
    assert "  · NCCL 2.21.5 sent over SHM" in capsys.readouterr().out
    words = said(broken)
    assert "NCCL 2.21.5 sent over SHM" in words and "NCCL_P2P_DISABLE=1" in words, words


def test_a_failed_run_and_a_cut_one(tmp_path: Path) -> None:
    failed = verdict(tmp_path, 300.0, "node7: Test CUDA failure common.cu:941 'system not yet initialized'\n")
    assert failed["verdict"] in ("FAIL", "INDETERMINATE") and "fabric manager" in said(failed), said(failed)


def test_figures_whose_number_of_gpus_is_not_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "log.txt"
    for cut, ranks in ((True, "#  Rank 71 Group 0 Pid 1 on node7 device 3 [0x01] NVIDIA GB200"), (False, "#")):
        file.write_text(HEAD.format(gpus=1, ranks=ranks, a=820.0, b=839.0))
        assert cli.main(["import", str(file)]) == 0
        printed, (run, *_) = capsys.readouterr().out, foreign.import_outputs([file])
        judged = json.loads((run.folder / f"{run.node}/nccl_check/verdict.json").read_text())
        words = printed + json.dumps(judged)
        assert judged["verdict"] == "not judged" and "among an unknown number of GPUs" in words, words
        assert ("71 of 72 ranks are not listed" in words) == cut and "the model of GPUs 0, 1, 2" not in words, words


def test_two_nodes_are_judged_by_their_nics(tmp_path: Path) -> None:
    ranks = "\n".join(
        f"#  Rank {rank} Group 0 Pid 1 on node{7 + rank // 4} device {rank % 4} [0x{rank % 4 + 10:02x}] NVIDIA H200"
        for rank in range(8)
    )
    file = tmp_path / "log.txt"
    file.write_text(
        "$ ./build/all_reduce_perf -b 256M -e 1G -f 2 -g 1\n" + HEAD.format(gpus=1, ranks=ranks, a=20.0, b=21.0)
    )
    verdicts = []
    for nics in (None, "4x400"):
        (run, *_) = foreign.import_outputs([file], "h200-x4-vm", nics=nics)
        verdicts.append(json.loads((run.folder / f"{run.node}/nccl_check/verdict.json").read_text()))
    assert [judged["verdict"] for judged in verdicts] == ["not judged", "FAIL"], [said(judged) for judged in verdicts]
    assert cli.main(["import", str(file), "--node", "h200-x4-vm", "--nics", "four"]) == 2
