"""From cases to a document, with a stand-in for mpirun and OSU on Keeneland's node: what goes wrong is told in words."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement
from nearfar.base.errors import NearfarError
from nearfar.mpi.osu import bindings, disturbances, installed
from nearfar.mpi.osu.benchmarks import BENCHMARKS
from nearfar.mpi.osu.measuring import Interrupted, Options, measure
from nearfar.mpi.osu.mpi_figures import figures
from nearfar.mpi.osu.subjects import parse
from tests.conftest import CHECKOUT
from tests.mpi.test_osu_subjects import KEENELAND, node

LATENCY, FAR = "osu_latency/H-H/same_numa_node", "osu_latency/H-H/across_packages"


def install(folder: Path, *, without: tuple[str, ...] = ()) -> dict[str, str]:
    """OSU and mpirun as stand-ins; returns the environment in which they are found."""
    for place in ("pt2pt", "collective"):
        (folder / "libexec/osu-micro-benchmarks/mpi" / place).mkdir(parents=True)
    for benchmark in BENCHMARKS.values():
        if benchmark.name not in without:
            program = folder / "libexec/osu-micro-benchmarks/mpi" / benchmark.folder / benchmark.name
            program.write_text("#!/bin/sh\nexit 1\n")
            program.chmod(0o755)
    (folder / "bin").mkdir()
    launcher = folder / "bin" / "mpirun"
    launcher.write_text(f'#!/bin/sh\nexec {sys.executable} {(CHECKOUT / "tests/support/fake_mpirun.py")} "$@"\n')
    launcher.chmod(0o755)
    return {"NEARFAR_OSU": str(folder), "NEARFAR_MPIRUN": str(launcher)}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Measures subjects with ``FAKE_MPI`` set; returns the document."""
    for name, value in install(tmp_path / "osu").items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def measured(fake: str, *subjects: str, machine: Any = KEENELAND, **options: Any) -> measurement.Document:
        monkeypatch.setenv("FAKE_MPI", fake)
        chosen = Options(**{"runs": 2, "limit": 20.0, **options})
        raw = measure(machine, [parse(subject) for subject in subjects], chosen, ["nearfar", "osu"])
        return measurement.loads(json.dumps(raw))

    return measured


def test_curves_and_software(run: Any) -> None:
    found = run("good", LATENCY, "osu_mbw_mr/H-H/same_numa_node/x4")
    assert found.raw["node"]["software"]["mpi"] == "Open MPI 4.1.4"
    assert found.raw["node"]["software"]["osu"] == "7.4"
    keys = [(r.quantity, r.subject, r.bytes) for r in found.results]
    assert len([key for key in keys if key[0] == "mpi.latency"]) == 23
    assert len([key for key in keys if key[0] == "mpi.message_rate"]) == 23
    first = found.raw["results"][0]
    assert (first["verified"], first["flows"][0]["rate"]["n"], first["flows"][0]["rate"]["ci"]) == (True, 2, None)
    assert [rank["cpus"] for rank in found.raw["mpi"]["ranks"][LATENCY]] == ["0", "2"]
    assert bindings.findings(found, KEENELAND) == []


def test_a_table_without_validation_verifies_nothing(run: Any) -> None:
    assert run("not_validated", LATENCY).raw["results"][0]["verified"] is None


def test_wrong_over_right(run: Any) -> None:
    found = {metric.name: metric for metric in figures(run("good", LATENCY, FAR))}
    assert set(found) == {
        "same_numa_node.osu_latency.H_H.8B", "same_numa_node.osu_latency.H_H.64KiB", "same_numa_node.osu_latency.H_H.4MiB",
        "across_packages.osu_latency.H_H.8B", "across_packages.osu_latency.H_H.64KiB", "across_packages.osu_latency.H_H.4MiB",
        "across_packages_over_same_numa_node.osu_latency.H_H.8B", "across_packages_over_same_numa_node.osu_latency.H_H.64KiB",
        "across_packages_over_same_numa_node.osu_latency.H_H.4MiB",
    }  # fmt: skip
    ratio = found["across_packages_over_same_numa_node.osu_latency.H_H.4MiB"]
    assert (ratio.value, ratio.unit) == (pytest.approx(2.0, rel=1e-3), "1")
    assert ratio.rows == (
        "openmpi_4_1_4.across_packages_over_same_numa_node.osu_latency.H_H.4MiB",
        "openmpi.across_packages_over_same_numa_node.osu_latency.H_H.4MiB",
        "across_packages_over_same_numa_node.osu_latency.H_H.4MiB",
    )


def test_bandwidth_has_a_peak_and_devices_share_rows(run: Any) -> None:
    found = {
        metric.name: metric for metric in figures(run("cuda", "osu_bw/D-D/near/g0-g1", "osu_allreduce/D-D/near/x3"))
    }
    peak = found["near.osu_bw.D_D.g0_g1.peak"]
    assert peak.value == max(metric.value for name, metric in found.items() if "osu_bw" in name)
    assert peak.rows[-2:] == ("near.osu_bw.D_D.g0_g1.peak", "near.osu_bw.D_D.peak")
    assert "near.osu_allreduce.D_D.x3.8B" in found


@pytest.mark.parametrize(
    "fake, code, words",
    [
        ("half_table", "error", "half a table: 2097152 B, 4194304 B missing"),
        ("other_benchmark", "error", "osu_latency was asked for, and 'OSU MPI Broadcast Latency Test' answered"),
        ("wrong_data", "wrong_data", "OSU's validation failed at 1024 B"),
        ("dies", "error", "rank 1 on here was ended by signal 9; the other ranks ended within"),
        ("hang", "error", "did not end within 3 s, and was ended with all its ranks"),
        ("moves_ranks", "placement", "rank 1 was on CPUs 0-3, bound to 2, while it ran: the MPI or its launcher moved it"),
        ("shares_a_core", "placement", "rank 1 was on CPUs 0, bound to 2"),
        ("alone", "error", "requires exactly two processes; srun and this MPI speak of different process managers"),
        ("no_wrapper", "placement", "rank 1 did not report where it was bound"),
    ],
)  # fmt: skip
def test_what_goes_wrong_in_a_run(run: Any, fake: str, code: str, words: str) -> None:
    found = run(fake, LATENCY, limit=3.0 if fake == "hang" else 20.0)
    assert found.results == ()
    (failed,) = found.failed
    assert (failed.cell, failed.code) == (LATENCY, code)
    assert words in failed.reason


@pytest.mark.parametrize(
    "fake, subject, code, words",
    [
        ("refuses", LATENCY, "missing_library", "attempt to run as root"),
        ("unbound", LATENCY, "missing_library", "rank 0 on here: cannot be bound to CPUs 0"),
        ("good", "osu_bw/D-D/near/g0-g1", "unsupported", "OSU was built without CUDA; spack install"),
        ("good", "osu_allreduce/H-H/same_numa_node/x64", "not_allowed", "cores"),
        ("good", f"osu_latency/H-H/near/{KEENELAND.nics[0].name}", "not_allowed", "no second one"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured(run: Any, fake: str, subject: str, code: str, words: str) -> None:
    (skipped,) = run(fake, subject).skipped
    assert (skipped.cell, skipped.code) == (subject, code)
    assert words in skipped.reason


def test_an_interrupted_run_keeps_what_was_measured(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(["validation", "validation", "run 1", None])  # the second case's first run is never made

    def interrupt(*_: object, **__: object) -> None:
        if next(said) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("nearfar.mpi.osu.measuring.print", interrupt, raising=False)
    with pytest.raises(Interrupted) as broken:
        run("good", LATENCY, FAR)
    found = measurement.loads(json.dumps(broken.value.document))
    assert {result.subject for result in found.results} == {LATENCY}
    assert [(skip.cell, skip.code) for skip in found.skipped] == [(FAR, "interrupted")]


def test_benchmarks_of_many_pairs_have_one_heading_for_host_and_device_buffers(run: Any) -> None:
    """OSU 7.4: seen on two H200s."""
    found = run("cuda", "osu_mbw_mr/D-D/near/x3", "osu_multi_lat/D-D/near/x3")
    assert not found.failed and {result.quantity for result in found.results} == {
        "mpi.bandwidth", "mpi.message_rate", "mpi.latency",
    }  # fmt: skip


def test_device_buffers_that_were_asked_for_are_an_obstacle(run: Any) -> None:
    (skipped,) = run("good", "osu_bw/D-D/near/g0-g1", device_buffers_asked=True).skipped
    assert skipped.code == "missing_library"


@pytest.mark.parametrize(
    "fake, words", [("cuda_dies", "rank 0 on here was ended by signal 11"), ("cuda_host_table", "measured host memory")]
)
def test_an_mpi_without_cuda_dies_or_measures_something_else(run: Any, fake: str, words: str) -> None:
    (failed,) = run(fake, "osu_bw/D-D/near/g0-g1").failed
    assert words in failed.reason


NIC = f"osu_latency/H-H/near/{KEENELAND.nics[0].name}"


def test_between_two_nodes_the_nic_is_forced_and_read_back(run: Any) -> None:
    found = run("two_nodes", NIC, hosts=("node0", "node1"))
    assert [rank["host"] for rank in found.raw["mpi"]["ranks"][NIC]] == ["node0", "node1"]
    assert found.raw["mpi"]["nics"][NIC] == [KEENELAND.nics[0].name]
    assert bindings.findings(found, KEENELAND) == []


@pytest.mark.parametrize(
    "fake, words",
    [("two_nodes_silent", "is not proven"), ("two_nodes_other_nic", "the MPI used mlx5_7"), ("good", "ran on here")],
)
def test_a_nic_or_a_node_that_is_not_proven(run: Any, fake: str, words: str) -> None:
    (failed,) = run(fake, NIC, hosts=("node0", "node1")).failed
    assert (failed.code, words in failed.reason) == ("placement", True), failed.reason


def test_bindings_are_held_against_the_expected_node(run: Any) -> None:
    found = run("good", LATENCY, FAR)
    (wrong,) = bindings.findings(found, node("sierra"))[:1]
    assert wrong.verdict == "INDETERMINATE"
    swapped = json.loads(measurement.dump(found))
    swapped["mpi"]["ranks"][LATENCY] = swapped["mpi"]["ranks"][FAR]
    (wrong,) = bindings.findings(measurement.loads(json.dumps(swapped)), KEENELAND)
    assert (wrong.subject, wrong.code) == (f"{LATENCY} binding", "ranks.other_numa_nodes")
    assert wrong.fields == {"numa_nodes": [0, 1]}


def test_no_osu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NEARFAR_OSU", raising=False)
    assert "mpi" in installed.lacking()
    raw = measure(KEENELAND, [parse(LATENCY)], Options(), ["nearfar", "osu"])
    (skipped,) = measurement.loads(json.dumps(raw)).skipped
    assert (skipped.code, "spack install osu-micro-benchmarks" in skipped.reason) == ("missing_library", True)
    monkeypatch.setenv("NEARFAR_OSU", str(tmp_path))
    with pytest.raises(NearfarError, match="holds no osu_latency; spack install"):
        installed.lacking()


def test_one_benchmark_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in install(tmp_path / "osu", without=("osu_bw",)).items():
        monkeypatch.setenv(name, value)
    raw = measure(KEENELAND, [parse("osu_bw/H-H/same_numa_node")], Options(), ["nearfar", "osu"])
    assert "there is an osu_latency, and no osu_bw" in raw["skipped"][0]["reason"]


def test_in_a_job_of_two_nodes_the_ranks_of_one_stay_together(run: Any) -> None:
    (failed,) = run("two_nodes", LATENCY, hosts=("node0", "node1")).failed
    assert (failed.code, failed.reason) == ("placement", "the ranks of one node ran on node0, node1")


def test_the_document_of_two_h200s() -> None:
    """Device buffers of real GPUs: every benchmark has its figures, each rank saw its GPU, and nothing disturbed it."""
    found = measurement.load(Path(__file__).parents[1] / "data/h200-x2/osu.json")
    assert bindings.findings(found, found.node) == [] and not found.failed and not found.skipped
    assert [note.subject for note in disturbances.findings(found)] == ["repetitions"]
    shown = {metric.name: metric for metric in figures(found)}
    assert {name.split(".")[1] for name in shown} == set(BENCHMARKS)
    assert shown["sole.osu_bw.D_D.g0_g1.peak"].value > 250 > shown["sole.osu_bw.D_H.g0.peak"].value
    assert shown["sole.osu_latency.D_D.g0_g1.8B"].unit == "us"
    assert [rank["gpu"] for rank in found.raw["mpi"]["ranks"]["osu_bw/D-D/sole/g0-g1"]] == [0, 1]
