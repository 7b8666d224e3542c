"""osu_check under a real ReFrame, with a stand-in for mpirun and OSU: verdicts, references, and who is asked at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar import report
from nearfar.base import site_file
from nearfar.base.verdicts import NOT_JUDGED, passes
from nearfar.mpi.osu import installed
from nearfar.run import run_file
from nearfar.site import systems
from tests.checks.test_checks import reframe
from tests.conftest import CHECKOUT
from tests.mpi.test_osu_measure import install

#: Partition -> further features, what the stand-in does, the verdict, and words of its first reason.
PARTITIONS = {
    "good": ([], "good", NOT_JUDGED, None),
    "slow": ([], "good", "FAIL", "osu_latency, host buffers, across packages, 8 B: 0.80 us, expected at most 0.50"),
    "wrong_data": ([], "wrong_data", "FAIL", "OSU's validation failed at 1024 B"),
    "dies": ([], "dies", "INDETERMINATE", "was ended by signal 9"),
    "moves": ([], "moves_ranks", "INDETERMINATE", "the MPI or its launcher moved it"),
    "half": ([], "half_table", "INDETERMINATE", "half a table: 2097152 B, 4194304 B missing"),
    "cuda": (["cuda_mpi"], "good", "INDETERMINATE", "OSU was built without CUDA; spack install"),
    "lone": (["two_nodes"], "good", "INDETERMINATE", "there is no second one to talk to"),
}
REFERENCES = """provenance: {published: {source: a stand-in, system: fake}}
osu_check:
  $index: ['$dev.gpu.model']
  .*:
    openmpi.across_packages.osu_latency.H_H.8B: [0.4, null, 0.25, us]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of all partitions."""
    folder = tmp_path_factory.mktemp("osu-check")
    site = folder / "site"
    (site / "systems").mkdir(parents=True)
    (site / "references").mkdir()
    (site / "references" / "slow.yaml").write_text(REFERENCES)
    (site / "systems" / "fake.yaml").write_text("system: fake\npartitions:\n" + "".join(
        f"  - {{name: {name}, node_type: keeneland, features: [{', '.join(['mpi', *features])}], env_vars: {{FAKE_MPI: {fake}}},"
        f" references: {'slow' if name == 'slow' else 'none'}}}\n"
        for name, (features, fake, _, _) in PARTITIONS.items()
    ))  # fmt: skip
    done = reframe(
        folder, "-r", "--system=fake", "-n", "^osu_check$", "-S", "osu_check.benchmarks=osu_latency", "-S", "osu_check.runs=1",
        NEARFAR_SITE=str(site), NEARFAR_SYSTEM="fake", NEARFAR_PROGRAMS=str(folder),
        HWLOC_XMLFILE=str(CHECKOUT / "site/nodes/keeneland.xml"), HWLOC_THISSYSTEM="0", **install(folder / "osu"),
    )  # fmt: skip
    assert (folder / "run" / "reframe-report.json").exists(), done.stdout + done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def outcome(run: Path) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """For each partition ReFrame's entry and the verdict."""
    entries = json.loads((run / "reframe-report.json").read_text())["runs"][0]["testcases"]
    found = {}
    for path in run.glob("*/*/verdict.json"):
        judged = json.loads(path.read_text())
        entry = next(e for e in entries if e["name"] == "osu_check" and e["partition"] == judged["partition"])
        found[judged["partition"]] = (entry, judged)
    assert set(found) == set(PARTITIONS)
    return found


@pytest.mark.parametrize("partition", PARTITIONS)
def test_verdicts(outcome: dict[str, Any], partition: str) -> None:
    entry, judged = outcome[partition]
    _, _, verdict, words = PARTITIONS[partition]
    jsonschema.validate(judged, site_file.schema("verdict-2"))
    assert judged["verdict"] == verdict, judged["reasons"]
    assert (entry["result"] == "pass") == passes(verdict), entry["fail_reason"]
    if words is not None:
        assert any(words in reason for reason in judged["reasons"]), judged["reasons"]


def test_one_node_is_a_note_and_device_buffers_a_remark(outcome: dict[str, Any]) -> None:
    judged = outcome["good"][1]
    found = [(each["subject"], each["verdict"], each["code"], each["hard"]) for each in judged["findings"]]
    assert [each for each in found if each[0] != "root"] == [("nodes", NOT_JUDGED, "nodes.one", False)]
    assert {skip["code"] for skip in judged["skipped"]} == {"unsupported"}
    assert judged["provenance"]["software"]["mpi"] == "Open MPI 4.1.4"
    ratios = [
        m for m in judged["metrics"] if (m["path_class"], m["derived"]) == ("across_packages", "over_same_numa_node")
    ]
    assert [ratio["value"] for ratio in ratios] == pytest.approx([2.0, 2.0, 2.0], rel=0.05)


def test_the_page_has_curves_and_what_a_wrong_placement_costs(run: Path) -> None:
    run_file.adopt(run)
    report.build(run)
    page = (run / "index.html").read_text()
    assert "Osu_latency: latency</h4>" in page or "osu_latency: latency</h4>" in page
    assert "over same numa node 2.00" in page
    assert 'class="series d2h"' in page
    assert "osu_latency/H-H/across_packages: 0.80 µs at 8 B" in page
    assert "OSU was built without CUDA" in page
    lines = report.summary(run, every=True).splitlines()
    assert any("osu latency H H 8B 0.40" in line and "osu latency H H 8B 0.80" in line for line in lines), lines


def test_only_who_has_or_asks_for_mpi_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "mpi" not in systems.local_system(True, {}).partitions["default"].features
    assert systems.local_system(True, {}, {"ranks": "no MPI"}).partitions["default"].features == ("gpu", "mpi", "nccl")
    monkeypatch.delenv("NEARFAR_OSU", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed.lacking() == {
        "mpi": "there is no osu_latency on the PATH", "ranks": "there is no mpicxx on the PATH"
    }  # fmt: skip
    for name, value in install(tmp_path / "osu").items():
        monkeypatch.setenv(name, value)
    assert "mpi" not in installed.lacking()
