"""A delivery that a real Slurm measures: every node that is left, again after a repair, and the record."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import fake_delivery_run, sweeping
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm
ORDER = """order: rack
offer: ACME, offer 114
count: 5
nodes: ['n[1-5]']
expect: {gpus: 8, packages: 2, numa_nodes: 2, gpu_model: NVIDIA H100 80GB HBM3}
memory_channels: {count: 8, rate: 4800}
promised:
  host_device_check:
    near.h2d: {value: 54, unit: GB/s, page: 12}
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[PrivateSlurm]:
    needed(root=True)
    with PrivateSlurm(cpus=1, gpus=0, nodes=5) as private:
        yield private


def test_what_is_left_is_measured_and_a_repaired_node_is_accepted(slurm: PrivateSlurm, tmp_path: Path) -> None:
    variables = {**slurm.environment, **sweeping.site(tmp_path, slurm)}
    (tmp_path / "site/orders").mkdir()
    (tmp_path / "site/orders/rack.yaml").write_text(ORDER)
    fake_delivery_run.stand_in(tmp_path / "site")
    reports = tmp_path / "state/reports"
    reports.mkdir(parents=True)
    (reports / "n4.fault").write_text("link channel")
    slurm.run(["scontrol", "update", "nodename=n5", "state=drain", "reason=no cable"])

    def accept(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "nearfar", "accept", "rack", *words], env=variables, capture_output=True, text=True, timeout=120
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    code, out, err = accept("--measure", "--partition", "all")
    assert code == 1 and "3 of 5 nodes accepted, 1 refused, 1 to be measured again" in out, err
    assert "GPU 2, near." in out and "as of 7 of 8 memory channels" in " ".join(out.split())
    assert "n4     " in out and "n5 it was never measured" in " ".join(out.split())
    slurm.run(["scontrol", "update", "nodename=n5", "state=resume"])
    (reports / "n4.fault").unlink()
    code, out, err = accept("--measure", "--partition", "all")
    assert code == 1 and "4 of 5 nodes accepted, 1 refused" in out, err
    assert err.count("n5: ") and not err.count("n1: "), "measured nodes are not measured again"
    assert "nothing is left to measure" in accept("--measure", "--partition", "all")[2]
    code, out, _ = accept("--measure", "--partition", "all", "--nodes", "n4")
    assert code == 3 and "1 to be measured again" in out, "one pass after a failure is not enough"
    code, out, _ = accept("--measure", "--partition", "all", "--record", str(tmp_path / "rack.zip"))
    assert code == 0 and out.startswith("5 of 5 nodes accepted") and (tmp_path / "rack.pdf").exists()
