"""GPUs that a node should have by Slurm's or the site's word, and does not show: never green."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.model.prediction import load_node_type
from nearfar.site import gpu_count
from nearfar.site.systems import Partition
from nearfar.slurm.controller.node_state import parse_nodes
from nearfar.slurm.sweep import slurm_jobs
from nearfar.topology import Gpu
from tests.checks.test_checks import reframe
from tests.conftest import CHECKOUT
from tests.verdict.test_verdict import document

FOUR = load_node_type("h200-x4-vm", [CHECKOUT / "site"]).node
BARE = Partition("p")


def gpus(count: int, **first: object) -> tuple[Gpu, ...]:
    one, *others = FOUR.gpus[:count] or (None,)
    return () if one is None else (replace(one, **first), *others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "seen, slurms, answering",
    [
        (gpus(4), "4", None),
        (gpus(4), "2", None),
        (gpus(0), "0", None),
        (gpus(0), "", None),
        (gpus(0), "4", 0),
        (gpus(1), "4", 1),
        (gpus(3), "4", 3),
        (gpus(4, fault="Xid 79"), "4", 3),
        (gpus(1, mig=True), "7", None),
    ],
)
def test_as_many_as_slurm_has(seen: tuple[Gpu, ...], slurms: str, answering: int | None) -> None:
    """In MIG mode Slurm counts instances: one GPU may be seven."""
    found = gpu_count.findings(BARE, replace(FOUR, gpus=seen), None, {gpu_count.VARIABLE: slurms})
    fields = [(f.code, f.fields) for f in found]
    assert fields == ([] if answering is None else [("gpu.below_gres", {"expected": 4, "seen": answering})])


def test_a_gpu_that_was_measured_is_seen() -> None:
    measured = document({f"n0:g{index}": 55.0 for index in range(4)})
    assert gpu_count.findings(BARE, replace(FOUR, gpus=()), measured, {gpu_count.VARIABLE: "4"}) == []


def test_the_sites_own_word() -> None:
    without, gpu = replace(FOUR, gpus=()), Partition("gpu", features=("gpu",))
    (found,) = gpu_count.findings(gpu, without, None, {})
    assert found.verdict == "INDETERMINATE"
    assert found.code == "gpu.none"
    assert gpu_count.findings(replace(gpu, features=("gpu", "modelled")), without, None, {}) == []


@pytest.mark.parametrize(
    "listed, count",
    [
        ("(null)", 0),
        ("gpu:4", 4),
        ("gpu:h100:8(S:0-1)", 8),
        ("gpu:h100:2(S:0,1),gpu:a100:2,nvme:2", 4),
        ("gpu:4,shard:16", 4),
        ("gpu:1g.10gb:7(S:0)", 7),
        ("gpu", 1),
        ("gpu:0", 0),
        ("nvme:2", 0),
    ],
)
def test_slurms_number(listed: str, count: int) -> None:
    (node,) = parse_nodes(f"NodeName=n1 Arch=x86_64\n   Gres={listed}\n   State=IDLE ThreadsPerCore=1\n\n").values()
    assert slurm_jobs.gpus(slurm_jobs.gres(node)) == count


def test_reframe_by_hand_on_a_partition_with_gpus_and_a_node_without(tmp_path: Path) -> None:
    """A reviewed file that names no node type: what is expected is read from the node, which shows no GPU."""
    (tmp_path / "site/systems").mkdir(parents=True)
    (tmp_path / "site/systems/mine.yaml").write_text(
        "system: mine\npartitions: [{name: p, features: [gpu], expect: {packages: 2}}]\n"
    )
    (tmp_path / "bin").mkdir()
    checks = ("topology_check", "host_device_check", "peer_check")
    done = reframe(
        tmp_path, "-r", "--system=mine", *(word for check in checks for word in ("-n", f"^{check}$")),
        NEARFAR_SITE=str(tmp_path / "site"), NEARFAR_SYSTEM="mine", NEARFAR_PROGRAMS=str(tmp_path / "bin"),
        HWLOC_XMLFILE=str(CHECKOUT / "site/nodes/jaguarpf.xml"), HWLOC_THISSYSTEM="0",
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    found = [json.loads(path.read_text()) for path in (tmp_path / "run").glob("*/*/verdict.json")]
    assert {judged["check"]: judged["verdict"] for judged in found} == dict.fromkeys(checks, "INDETERMINATE"), (
        done.stdout
    )
    assert all(judged["findings"][-1]["code"] == "gpu.none" for judged in found)
