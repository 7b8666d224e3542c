"""nccl_check under a real ReFrame, with a stand-in for nccl-tests: verdicts, references, and a node with one GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar import report
from nearfar.base import site_file
from nearfar.base.verdicts import NOT_JUDGED, passes
from nearfar.run import run_file
from tests.checks.test_checks import reframe
from tests.conftest import CHECKOUT
from tests.nccl.test_measuring import install

#: Partition -> its node type, what the stand-in does, the verdict, and words of a reason or a note.
PARTITIONS = {
    "tuned": (
        "h200-x4-vm",
        "good",
        "FAIL",
        "bus bandwidth of all_reduce among 4 GPUs, 1 GiB: 358.6 GB/s, expected at least 380",
    ),
    "wrong": ("h200-x4-vm", "wrong", "FAIL", "nccl-tests found 1 wrong values in all_reduce: keep jobs off the node"),
    "cut": ("h200-x4-vm", "cut", "INDETERMINATE", "its output ends behind 536870912 bytes"),
    "hang": ("h200-x4-vm", "hang", "INDETERMINATE", "rank 3 of 4 did not become ready"),
    "versions": ("h200-x4-vm", "versions", "INDETERMINATE", "ran with the older 2.27.3"),
    "shm": ("h200-x4-vm", "shm, FAKE_BUSBW: '24'", "FAIL", "GPUs send to each other through host memory (SHM)"),
    "one": ("h200-x1-vm", "good", NOT_JUDGED, "the node has one GPU, and this check compares several"),
}
REFERENCES = """provenance: {published: {source: a stand-in, system: fake}}
nccl_check:
  $index: ['$dev.gpu.model']
  .*:
    one_node.all_reduce.x4.1GiB: [400, -0.05, null, GB/s]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of all partitions."""
    folder = tmp_path_factory.mktemp("nccl-check")
    site = folder / "site"
    (site / "systems").mkdir(parents=True)
    (site / "references").mkdir()
    (site / "references" / "tuned.yaml").write_text(REFERENCES)
    (site / "systems" / "fake.yaml").write_text("system: fake\npartitions:\n" + "".join(
        f"  - {{name: {name}, node_type: {node_type}, features: [gpu, nccl], env_vars: {{FAKE_NCCL_TESTS: {fake}}},"
        f" references: {'tuned' if name == 'tuned' else 'none'}}}\n"
        for name, (node_type, fake, _, _) in PARTITIONS.items()
    ))  # fmt: skip
    done = reframe(
        folder, "-r", "--system=fake", "-n", "^nccl_check$", "-S", "nccl_check.tests=all_reduce", "-S", "nccl_check.run_limit=3",
        NEARFAR_SITE=str(site), NEARFAR_SYSTEM="fake", NEARFAR_PROGRAMS=str(folder),
        HWLOC_XMLFILE=str(CHECKOUT / "site/nodes/h200-x4-vm.xml"), HWLOC_THISSYSTEM="0", **install(folder / "nccl-tests"),
    )  # fmt: skip
    assert (folder / "run" / "reframe-report.json").exists(), done.stdout + done.stderr
    return folder / "run"


def test_verdicts(run: Path) -> None:
    entries = json.loads((run / "reframe-report.json").read_text())["runs"][0]["testcases"]
    judged: dict[str, Any] = {}
    for path in run.glob("*/*/verdict.json"):
        one = json.loads(path.read_text())
        jsonschema.validate(one, site_file.schema("verdict-2"))
        judged[one["partition"]] = one
    assert set(judged) == set(PARTITIONS)
    for partition, (_, _, verdict, words) in PARTITIONS.items():
        one = judged[partition]
        said = [*one["reasons"], *(finding["reason"] for finding in one["findings"])]
        assert one["verdict"] == verdict and any(words in reason for reason in said), (partition, said)
        entry = next(e for e in entries if e["name"] == "nccl_check" and e["partition"] == partition)
        assert (entry["result"] == "pass") == passes(verdict), entry["fail_reason"]


def test_the_page_has_the_collectives(run: Path) -> None:
    run_file.adopt(run)
    report.build(run)
    page = (run / "index.html").read_text()
    assert "Collectives (NCCL)" in page and "P2P/direct" in page
    assert "2 collective figures out of bounds: GPUs send to each other through host memory" in page, "the cause leads"
