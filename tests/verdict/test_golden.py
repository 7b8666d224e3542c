"""The documents of a real run on four H200s: what everything downstream makes of them stays as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearfar import measurement, verdict
from nearfar.cells import parse
from nearfar.measurement import Document
from nearfar.topology import Node, host_class, node_from_document, parse_hwloc_xml, peer_class
from nearfar.verdict import references
from nearfar.verdict.document_findings import CaseInfo
from tests.data.runs import golden

REAL = Path(__file__).parents[1] / "data" / "h200-x4"
SUBJECT = CaseInfo("host_device_check", "local", "default", "system", "vm", "2026-11-20T15:06:00Z")


def document(check: str) -> Document:
    return measurement.load(REAL / f"{check}.json")


def judged(measured: Document, node: Node) -> dict:
    metrics = measurement.metrics(measured, node)
    found = references.resolve(metrics, "host_device_check", [], node)
    return verdict.verdict_file.to_raw(verdict.judge(measured, found, subject=SUBJECT, metrics=metrics))


@pytest.fixture
def node() -> Node:
    return node_from_document(document("host_device_check").raw["node"])


def test_the_real_node_as_lstopo_shows_it() -> None:
    seen = parse_hwloc_xml((REAL / "lstopo.xml").read_text())
    assert [gpu.pci for gpu in seen.gpus] == ["0000:00:06.0", "0000:00:07.0", "0000:00:08.0", "0000:00:09.0"]
    assert {host_class(seen, 0, gpu.index) for gpu in seen.gpus} == {"sole"}


def test_the_real_node_as_the_driver_completes_it() -> None:

    seen = node_from_document(json.loads((REAL / "node.json").read_text()))
    assert {gpu.name for gpu in seen.gpus} == {"NVIDIA H200"}
    assert {(gpu.link.max_gen, gpu.link.max_width, gpu.nvlinks) for gpu in seen.gpus} == {(5, 16, 18)}
    assert {peer_class(seen, a, b) for a in range(4) for b in range(4) if a != b} == {"NV18"}


def test_a_healthy_run_passes_by_its_links_and_siblings(node: Node) -> None:
    made = judged(document("host_device_check"), node)
    assert made["verdict"] == "PASS", made["reasons"]
    assert len(made["metrics"]) == 4 * (1 + 1 + 3)
    assert {m["path_class"] for m in made["metrics"]} == {"sole"}
    known = [m for m in made["metrics"] if m.get("code") != "figure.judged_elsewhere"]
    assert {m["name"] for m in made["metrics"]} - {m["name"] for m in known} == {
        m["name"] for m in made["metrics"] if m["flow"]
    }
    assert {m["reference"]["origin"] for m in known} == {"prediction", "siblings"}
    lone = [m for m in made["metrics"] if "+" not in m["subject"]]
    assert all(0.93 < m["value"] / m["ceiling"] < 1 for m in lone)


@pytest.mark.parametrize("factor, wanted", [(0.5, "FAIL"), (0.9, "DEGRADED"), (0.999, "PASS")])
def test_a_slow_direction_is_named_and_the_other_called_fine(node: Node, factor: float, wanted: str) -> None:
    measured = document("host_device_check")
    raw = measured.raw
    for result in raw["results"]:
        if result["cell"] == "g2:n0":
            for rate in (result["total"], result["flows"][0]["rate"]):
                golden._scale(rate, factor)
    made = judged(measurement.document.from_raw(raw, "slowed"), node)
    assert made["verdict"] == wanted
    if wanted != "PASS":
        (reason,) = made["reasons"]
        assert reason.startswith("GPU 2, device to host into NUMA node 0: ")
        assert reason.endswith("the other direction is fine")


def test_every_cell_of_the_real_run_has_its_binding_and_link() -> None:
    for result in document("host_device_check").raw["results"]:
        for flow in result["flows"]:
            assert flow["memory_nodes"] == [parse(flow["flow"]).flows[0].numa_node]
            assert flow["link"] == {"gen": 5, "width": 16}
            assert flow["cpus"] == "0-63"


def test_mpi_beside_four_gpus_pays_with_large_messages() -> None:
    penalties = {
        (result["quantity"], result["cell"].rsplit(".", 1)[1]): result["penalty"]["median"]
        for result in document("contention").raw["results"]
    }
    assert penalties["contention.mpi.bandwidth", "stream_1MiB"] > 0.3
    assert abs(penalties["contention.mpi.latency", "pingpong_8B"]) < 0.1
    assert penalties["contention.gpu.bandwidth", "stream_1MiB"] < 0.05


def test_four_ranks_with_a_gpu_each_are_balanced_under_either_binding() -> None:
    efficiency = {
        result["cell"]: result["flows"][0]["rate"]["median"]
        for result in document("saxpy").raw["results"]
        if result["quantity"] == "saxpy.parallel_efficiency"
    }
    assert set(efficiency) == {"saxpy/default", "saxpy/gpu"} and all(0.98 < value <= 1 for value in efficiency.values())
