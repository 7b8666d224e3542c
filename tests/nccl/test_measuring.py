"""From cases to a document with a stand-in for nccl-tests: figures, how NCCL ran, and what goes wrong in words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.base import NearfarError
from nearfar.collective import COLLECTIVES
from nearfar.model.prediction import load_node_type
from nearfar.nccl import figures, findings, installed, parse_case
from nearfar.nccl.measuring import NcclSession
from tests.conftest import CHECKOUT

NODE = load_node_type("h200-x4-vm", [CHECKOUT / "site"]).node


def install(folder: Path) -> dict[str, str]:
    """The stand-in under every test's name; returns the environment in which it is found."""
    folder.mkdir()
    for test in COLLECTIVES:
        program = folder / f"{test}_perf"
        text = (CHECKOUT / "tests/support/fake_nccl_tests.py").read_text(encoding="utf-8")
        program.write_text(text.replace("/usr/bin/env python3", sys.executable, 1), encoding="utf-8")
        program.chmod(0o755)
    return {"NEARFAR_NCCL_TESTS": str(folder)}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Measures all_reduce with the stand-in bent; returns the document."""
    for name, value in install(tmp_path / "nccl-tests").items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NCCL_NVLS_ENABLE", raising=False)

    def measured(
        fake: str, case: str = "all_reduce/x4", limit: float = 20.0, nodes: Any = ("here",)
    ) -> measurement.Document:
        monkeypatch.setenv("FAKE_NCCL_TESTS", fake)
        raw = NcclSession(NODE, nodes, 3, limit).measure([parse_case(case)], ["measure"])
        return measurement.loads(json.dumps(raw))

    return measured


def test_figures_and_how_nccl_ran(run: Any) -> None:
    found = run("good")
    assert [(f.name, round(f.value)) for f in figures(found)] == [
        ("one_node.all_reduce.x4.1MiB", 72), ("one_node.all_reduce.x4.256MiB", 354), ("one_node.all_reduce.x4.1GiB", 359)
    ]  # fmt: skip
    assert found.raw["node"]["software"]["nccl"] == "2.28.9" and found.raw["results"][0]["flows"][0]["rate"]["n"] == 2
    said = [finding.reason for finding in findings(found)]
    assert said[0] == "NCCL 2.28.9 sent over P2P/direct, 16 channels; ring with Simple from 1GiB on"
    assert (
        said[1].startswith("NVLink's multicast was off (NCCL_NVLS_ENABLE=0, set for this check alone)")
        and len(said) == 2
    )


def test_multicast_is_what_the_site_or_the_case_says(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("good", "all_reduce/x4/nvls").raw["nccl"]["environment"] == {}
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "1")
    found = run("good").raw["nccl"]
    assert found["environment"] == {} and found["log"]["variables"] == {"NCCL_NVLS_ENABLE": "1"}


@pytest.mark.parametrize(
    "fake, code, words",
    [
        ("wrong", "wrong_data", "nccl-tests found 1 wrong values in all_reduce"),
        ("cut", "error", "its output ends behind 536870912 bytes"),
        ("fails", "error", "all_reduce_perf ended with exit code 2: system not yet initialized"),
        ("hang", "hung_once", "did not end within 1 s, and was ended: rank 3 of 4 did not become ready"),
    ],
)
def test_what_goes_wrong(run: Any, fake: str, code: str, words: str) -> None:
    found = run(fake, limit=1.0 if fake == "hang" else 20.0)
    (failed,) = found.failed
    assert found.results == () and (failed.cell, failed.code) == ("all_reduce/x4", code) and words in failed.reason


def test_versions_and_fallbacks_are_named(run: Any) -> None:
    older = [finding for finding in findings(run("versions")) if finding.code == "nccl.older_library"]
    assert [each.verdict for each in older] == ["INDETERMINATE"] and "2.28.9 and ran with the older 2.27.3" in older[
        0
    ].reason
    assert "nccl.p2p_off_shm" in [finding.code for finding in findings(run("shm"))]


def test_two_nodes_start_through_the_launcher(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n'
        '[ "$1" = --version ] && { echo "mpirun (Open MPI) 5.0.7"; exit; }\nwhile [ "$1" != env ]; do shift; done\nexec "$@"\n'
    )
    launcher.chmod(0o755)
    monkeypatch.setenv("NEARFAR_MPIRUN", str(launcher))
    monkeypatch.chdir(tmp_path)
    (alone,) = run("good", "all_reduce/x8/nodes2", nodes=("a", "b")).failed
    assert "ran with 4 GPUs and not with 8; between nodes they have to be built with MPI=1" in alone.reason
    monkeypatch.setenv("FAKE_NODES", "2")
    assert figures(run("good", "all_reduce/x8/nodes2", nodes=("a", "b")))[-1].name == "two_nodes.all_reduce.x8.1GiB"
    said = (tmp_path / "said").read_text()
    assert "--host a:1,b:1" in said and "-n 2 env" in said and "NCCL_NVLS_ENABLE=0" in said
    (skipped,) = run("good", "all_reduce/x8/nodes2").skipped
    assert "the job has 1 nodes, and the case is of 2" in skipped.reason


def test_absent_it_says_what_brings_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NEARFAR_NCCL_TESTS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed.lacking() == {"nccl": "there is no all_reduce_perf on the PATH"}
    monkeypatch.setenv("NEARFAR_NCCL_TESTS", str(tmp_path))
    with pytest.raises(NearfarError, match="holds no all_reduce_perf; spack -e spack/peers install"):
        installed.lacking()
