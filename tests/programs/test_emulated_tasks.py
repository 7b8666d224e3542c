"""The tasks of /xK on emulated GPUs: one that dies or hangs in any call of CUDA fails its cell alone, and the rest is measured."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.emulated import Emulated

#: A call of each phase of a task, and what is said where it dies there.
PHASES = {
    "cudaGetDeviceCount": "0 of 2 tasks could start: a task on g0 ended before it was ready",
    "cudaSetDevice": "0 of 2 tasks could start: a task on g0 ended before it was ready",
    "cudaMalloc": "a task on g0 ended before it was ready",
    "cudaHostRegister": "a task on g0 ended before it was ready",
    "cudaEventRecord": "a task on g0 ended while it was measured",
}


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    if not (build_folder / "bin" / "emulated-copy").exists():
        pytest.skip("no headers of CUDA: the emulated programs are not built")
    if shutil.which("lstopo-no-graphics") is None:
        pytest.skip("no lstopo")
    return Emulated(build_folder / "bin", tmp_path_factory.mktemp("emulated"))


@pytest.mark.parametrize("call", PHASES)
@pytest.mark.parametrize("kind", ["kill", "hang"])
def test_a_task_that_dies_or_hangs_fails_its_cell_alone(emulated: Emulated, call: str, kind: str) -> None:
    settings = f"in=task,fault={call}:1:{kind}"
    ended = emulated.run("--json", "--timeout=3", "n0:g0/x2", "n0:g1", gpus=2, settings=settings)
    document = ended.document()
    assert ended.code == 1
    assert [result["cell"] for result in document["results"]] == ["n0:g1"]
    (failed,) = document["failed"]
    assert (failed["cell"], failed["code"]) == ("n0:g0/x2", "hang" if kind == "hang" else "error")
    assert failed["reason"].startswith(PHASES[call]) or (
        kind == "hang" and "a task on g0 did not answer within 1 s" in failed["reason"]
    )
