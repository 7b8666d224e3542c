"""What pages say beside verdicts: capacities found in a run, and the parts that explain slow figures."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import cells, report
from nearfar.model.calibration import node_type_of
from nearfar.model.diagnosis import DegradedPart, Part
from nearfar.model.diagnosis.parts import bridge_of_links
from nearfar.report import explanations, terminal
from nearfar.report.blocks import Block, Text
from nearfar.report.charts import Findings, draw
from nearfar.report.explanations import capacities, faults, merged_document
from nearfar.topology import node_from_document
from nearfar.verdict import CheckRecord, NodeRun, run_directory
from nearfar.verdict.references import ReferenceFile
from tests.data.runs import golden, large_nodes, modelled
from tests.data.runs.synthetic import make_node
from tests.report.test_report import Page
from tests.support.verdicts import change_document, judged, judged_metric


def built(folder: Path) -> tuple[Page, dict]:
    page = Page(report.build(folder))
    return page, json.loads((folder / "report.json").read_text())


def only(folder: Path) -> explanations.Explained:
    (one,) = explanations.explain(run_directory.read(folder)).values()
    return one


def sentences(blocks: Sequence[Block]) -> list[str]:
    return [sentence for each in blocks if isinstance(each, Text) for sentence in each.sentences]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return golden.write(tmp_path_factory.mktemp("golden") / "run")


@pytest.fixture(scope="module")
def ill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return modelled.write(tmp_path_factory.mktemp("modelled") / "run", "summit", {"g2.d2h": 0.5})


# Capacities


def test_the_four_h200s_and_what_limits_them(healthy: Path) -> None:
    found = only(healthy).capacities
    assert found is not None and found.note is None
    assert found.known["g0.h2d"] == "55.5" and found.known["g0.out"].startswith("399.")
    assert {name: value for name, value in found.known.items() if name.startswith("n0")} == {
        "n0.memory": "187.6", "n0.memory, read": "179.3", "n0.memory, written": "141.9",
    }  # fmt: skip
    assert found.found is not None
    rows = {each["cell"]: each for each in found.found["cells"]}
    assert "17 of 17 totals are predicted within 10 %, the worst +7.3 % off." in sentences(found.blocks)
    three = rows["g0:n0+g1:n0+g2:n0"]
    assert (f"{three['measured']:.1f}", f"{three['predicted']:.1f}", three["limited_by"]) == (
        "136.1",
        "141.9",
        ["n0.memory"],
    )
    # Inputs are residuals, never predictions.
    assert rows["n0:g0+n0:g1+n0:g2+n0:g3"]["calibrates"] and not three["calibrates"]


def test_what_is_not_explained_is_said(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run")
    (path,) = folder.glob("*/saturation_check/verdict.json")
    document = json.loads(path.read_text())["document"]
    cell = "n0:g0+g0:n0+n0:g1+g1:n0+n0:g2+g2:n0"
    (result,) = (one for one in document["results"] if one["cell"] == cell)
    lost = 0.0
    for flow in result["flows"]:
        if flow["flow"].startswith("g"):
            lost += 0.3 * flow["rate"]["median"]
            flow["rate"].update(median=0.7 * flow["rate"]["median"], ci=[0.7 * end for end in flow["rate"]["ci"]])
    result["total"].update(median=result["total"]["median"] - lost, ci=[end - lost for end in result["total"]["ci"]])
    change_document(path, results=document["results"])
    found = only(folder).capacities
    assert found is not None
    (odd,) = (
        said for said in sentences(found.blocks) if said.startswith("in 1 of 17 cells some flow, or the total, is off")
    )
    assert "explains it: n0→g0 + g0→n0 + n0→g1 + g1→n0 + n0→g2 + g2→n0 (predicted " in odd


def test_the_page_shows_it_and_says_that_it_judges_nothing(healthy: Path) -> None:
    page, digest = built(healthy)
    assert [i for i, count in Counter(page.ids).items() if count > 1] == []
    for words in (
        "What limits many flows at once", "capacities calibrated from a run never judge that run", "17 of 17 totals",
    ):  # fmt: skip
        assert words in " ".join(page.text.split()), words
    (node,) = digest["nodes"]
    assert node["calibration"]["capacities"]["g0.h2d"]["kind"] == "interval"
    assert len([cell for cell in node["calibration"]["cells"] if not cell["calibrates"]]) == 17
    assert "diagnosis" not in node


def test_capacities_of_a_run_judge_nothing_of_it(healthy: Path, tmp_path: Path) -> None:
    """Whatever calibration finds, every verdict on the page is the one that the judge wrote."""
    _, digest = built(healthy)
    for check in digest["nodes"][0]["checks"]:
        stored = json.loads((healthy / "vm" / check["check"] / "verdict.json").read_text())
        assert check["verdict"] == stored["verdict"]
        assert [m["verdict"] for m in check["metrics"]] == [m["verdict"] for m in stored["metrics"]]
        origins = {m["reference"]["origin"] for m in stored["metrics"] if m["reference"]}
        assert origins <= {"prediction", "siblings"}


def test_it_takes_half_a_second_at_most(healthy: Path) -> None:
    run = run_directory.read(healthy)
    explanations.explain(run)  # schemas are compiled once
    begun = time.process_time()
    explanations.explain(run)
    assert time.process_time() - begun < 0.5


def test_contradictory_figures_leave_their_one_line(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run")
    path = folder / "vm" / "host_device_check" / "verdict.json"
    document = json.loads(path.read_text())["document"]
    (lone,) = [result for result in document["results"] if result["cell"] == "n0:g1"]
    for rate in (lone["flows"][0]["rate"], lone["total"]):
        golden._scale(rate, 0.5)
    change_document(path, results=document["results"])
    page, digest = built(folder)
    words = "Not calibrated: contradictory figures: n0:g1 carries "
    assert words in page.text
    assert digest["nodes"][0]["calibration"]["note"].startswith("contradictory figures: n0:g1")


@pytest.mark.parametrize("left_out", ["host_device_check", "saturation_check"])
def test_without_the_documents_it_needs(tmp_path: Path, left_out: str) -> None:
    checks = [check for check in golden.CHECKS if check not in (left_out, "sharing_check", "peer_check")]
    found = only(golden.write(tmp_path / "run", checks)).capacities
    if left_out == "saturation_check":
        assert found is None  # no cell of several GPUs to explain
    else:
        # The ramps' first steps are single flows of GPU 0 alone: of the other links nothing but lower bounds is known.
        assert found is not None and found.note is None
        links = {name for name, value in found.known.items() if name.startswith("g") and not value.startswith("≥")}
        assert links == {"g0.h2d", "g0.d2h", "g0.both"}


def test_a_fault_in_an_explanation_costs_no_page(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(capacities, "calibrate", broken)
    page, _ = built(healthy)
    assert "Not calibrated: the calibration failed: ZeroDivisionError" in page.text


def test_documents_of_other_nodes_leave_a_note(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run")
    path = folder / "vm" / "peer_check" / "verdict.json"
    node = json.loads(path.read_text())["document"]["node"]
    change_document(path, node={**node, "hostname": "elsewhere"})
    found = only(folder).capacities
    assert found is not None and found.note is not None and "is of another node or kind" in found.note


def test_modelled_figures_are_not_calibrated_from(ill: Path) -> None:
    assert only(ill).capacities is None


# What explains slow figures


def test_a_healthy_run_is_not_looked_at(healthy: Path) -> None:
    assert only(healthy).faults is None


def test_a_modelled_fault_is_named_everywhere(ill: Path) -> None:
    page, digest = built(ill)
    part = "GPU 2's host NVLink from device to host"
    shown = f"{part} runs at half speed (22.9 of 45.9 GB/s)"
    assert page.text.count(shown) == 1  # said first, with a link to what it rests on
    now = "19 of 19 slow cells; now g2.d2h 22.9 GB/s, g2.staged_out 22.9 GB/s, g2.peers_out 22.9 GB/s."
    assert f"g2.d2h ({part}) at 0.500 [0.494–0.506] of healthy: {now}" in page.text
    assert "#s0.faults" in page.links and "s0.faults" in page.ids
    (node,) = digest["nodes"]
    assert node["diagnosis"]["sentence"] == shown
    assert node["diagnosis"]["sets"][0][0]["part"] == "g2.d2h"
    said = report.summary(ill, colour=False)
    assert said.count(shown) == 1
    assert len(said.splitlines()) <= terminal.MOST_LINES


def test_a_page_of_modelled_faults_says_first_what_is_slow_and_that_it_counts_for_nothing(ill: Path) -> None:
    page, digest = built(ill)
    sentence = digest["nodes"][0]["diagnosis"]["sentence"]
    says = f"{sentence}; nothing was measured, so this does not affect the verdict."
    assert says in page.text and report.summary(ill, colour=False).startswith(f"MODELLED  {says}\n")
    assert "nothing was judged" not in page.text


def test_a_measured_fault_is_found_by_siblings(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run", ("host_memory_check", "host_device_check"), {"g2:n0": 0.5})
    _, digest = built(folder)
    found = digest["nodes"][0]["diagnosis"]
    assert found["sentence"].startswith("GPU 2's PCIe link from device to host runs at half speed (")
    assert set(found["healthy_from"]) == {"siblings"}
    assert {one["cell"] for one in found["slow"]} == {"g2:n0", "n0:g2+g2:n0"}
    said = report.summary(folder, colour=False)
    assert said.startswith(f"FAIL  {found['sentence']}.")


def test_a_bridge_is_named_and_marked_where_all_gpus_behind_it_are_slow_alike(tmp_path: Path) -> None:
    page, digest = built(large_nodes.sixteen_gpus(tmp_path / "run", bridge=True))
    assert [[one["part"] for one in each] for each in digest["nodes"][0]["diagnosis"]["sets"]] == [
        ["switch:0000:81:00.0"]
    ]
    assert page.source.count('class="switch FAIL"') == 1 and 'class="gpu FAIL"' not in page.source
    assert not re.search(r'class="[^"]*high\d', page.source), "nothing is tinted as better than its like"


def test_the_links_are_named_where_copies_between_the_gpus_behind_a_bridge_are_slow_too() -> None:
    node_type = node_type_of(node_from_document(large_nodes.sixteen()), "pcie16")
    links = [
        DegradedPart(
            Part(f"g{g}.link", (f"g{g}.h2d",), ""), 0.5, 0.49, 0.51, {f"g{g}.h2d": 12.0}, {f"g{g}.h2d": 24.0}, ()
        )
        for g in (8, 9)
    ]
    (bridge,) = bridge_of_links(links, node_type, [cells.parse("n0:g8"), cells.parse("g8:g0")])
    assert bridge.part.name == "switch:0000:81:00.0" and bridge.now["switch:0000:81:00.0.down"] == 12.0
    assert bridge_of_links(links, node_type, [cells.parse("g8:g9")]) == tuple(links)
    assert bridge_of_links(links[:1], node_type, []) == tuple(links[:1]), "one of two"
    other = replace(links[1], factor=0.8, low=0.79, high=0.81)
    assert bridge_of_links([links[0], other], node_type, []) == (links[0], other), "not as slow as each other"


def test_what_was_slow_in_one_of_three_looks_is_laid_to_no_part(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run", ("host_device_check",), {"g2:n0": 0.5})
    for path in folder.glob("*/*/verdict.json"):
        data = json.loads(path.read_text())
        for metric in (m for m in data["metrics"] if m["verdict"] in ("FAIL", "DEGRADED")):
            looks = [{"value": metric["value"] * n, "time": data["time"], "beyond": n == 1} for n in (1, 2, 2)]
            metric.update(verdict="DEGRADED", looks=looks)
        path.write_text(json.dumps(data))
    page, digest = built(folder)
    assert "diagnosis" not in digest["nodes"][0]
    assert "measured again: 27" in page.text and "speed (" not in report.summary(folder, colour=False)


def only_sentences(folder: Path) -> list[str]:
    page, digest = built(folder)
    return [page.text, report.summary(folder, colour=False), digest["nodes"][0]["diagnosis"]["sentence"]]


def test_one_figure_that_no_part_explains_is_named(tmp_path: Path) -> None:
    rows = TUNED.replace("host_memory_check:\n  local.triad: [187.6, -0.05, null, GB/s]\n", "")
    (tmp_path / "vm.yaml").write_text(rows.replace("[55.5,", "[60.0,"))
    files = [ReferenceFile(tmp_path / "vm.yaml", ["host_device_check"])]
    folder = golden.write(tmp_path / "run", ("host_device_check",), {}, files)
    for said in only_sentences(folder):
        assert "nothing is slow" not in said
    assert "tuned: 60.0 GB/s" in only_sentences(folder)[0]


def test_what_slows_all_alike_is_not_blamed_on_a_part(tmp_path: Path) -> None:
    slow = {f"g{gpu}:n0": 0.5 for gpu in range(4)}
    folder = golden.write(tmp_path / "run", ("host_device_check",), slow)
    found = only(folder).faults
    assert found is not None
    assert found.sentence == "no part of the node explains the 4 slow figures alone"
    assert found.found is not None and "nothing is slow" not in json.dumps(only_sentences(folder))
    assert any("judged slow" in detail and "--healthy" in detail for detail in sentences(found.blocks))


TUNED = """provenance:
  tuned: {date: 2026-11-20, n: 9, stamp: {driver: "580.159.04"}}
host_memory_check:
  local.triad: [187.6, -0.05, null, GB/s]
host_device_check:
  $index: [$dev.gpu.model]
  NVIDIA H200:
    sole.h2d: [55.5, -0.02, null, GB/s]
    sole.both.h2d: [52.0, -0.03, null, GB/s]
    sole.both.d2h: [50.1, -0.03, null, GB/s]
    sole.both.total: [102.1, -0.03, null, GB/s]
"""


def test_tuned_references_see_what_siblings_cannot(tmp_path: Path) -> None:
    (tmp_path / "vm.yaml").write_text(TUNED)
    files = [ReferenceFile(tmp_path / "vm.yaml", ["host_memory_check", "host_device_check"])]
    checks, slow = ("host_memory_check", "host_device_check"), {"c0:n0/triad": 0.5}
    found = only(golden.write(tmp_path / "run", checks, slow, files)).faults
    # The node's only memory has no sibling.
    assert found is not None and found.sentence.startswith("the memory of NUMA node 0 runs at half speed (")
    told = " ".join(sentences(found.blocks))
    assert "n0.memory (the memory of NUMA node 0) at 0.5" in told and ": 1 of 1 slow cell; now" in told
    assert "9 cells with the site's tuned references" in told and "4 cells with siblings in the same run" in told


def test_slow_pairs_alone_are_no_single_part(tmp_path: Path) -> None:
    slow = {"g0:g1": 0.5, "g2:g3@g3": 0.6, "g3:g1/staged": 0.4}
    found = only(golden.write(tmp_path / "run", ("host_device_check", "peer_check"), slow)).faults
    assert found is not None
    assert found.sentence.startswith("no single part explains this, nor two: ")
    assert any("not explained: g" in each for each in sentences(found.blocks))


def test_a_summary_without_a_page_says_nothing_of_parts(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run", ("host_device_check",), {"g2:n0": 0.5})
    said = report.summary(folder, colour=False)
    assert "speed (" not in said and "\nnext  nearfar validate" in said


def test_many_nodes_share_the_terminals_line(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run", ("host_device_check",), {"g2:n0": 0.5})
    (folder / "vm2").mkdir()
    (folder / "vm2" / "host_device_check").mkdir()
    data = json.loads((folder / "vm" / "host_device_check" / "verdict.json").read_text())
    (folder / "vm2" / "host_device_check" / "verdict.json").write_text(json.dumps({**data, "node": "vm2"}))
    report.build(folder)
    first, second = (line for line in report.summary(folder, colour=False).splitlines() if "half speed" in line)
    assert " GB/s) (vm). And 1 more reason." in first
    assert second.endswith(" GB/s) (vm2); and 2 figures that follow from it")


def test_checks_of_other_windows_are_not_mixed_in() -> None:
    assert not {"topology_check", "size_sweep_check", "latency_check"} & set(merged_document.explaining())


def test_what_ran_in_the_background_makes_no_capacity(tmp_path: Path) -> None:
    folder = golden.write(tmp_path / "run")
    change_document(folder / "vm" / "saturation_check" / "verdict.json", aggressor=["n0:g3"])
    found = only(folder).capacities
    assert found is not None and found.note == "saturation_check was measured while n0:g3 ran in the background"


def test_slow_figures_without_documents_are_not_localised(tmp_path: Path) -> None:
    check = CheckRecord("host_device_check", tmp_path, judged("host_device_check", judged_metric(verdict="DEGRADED")))
    found = faults.faults(NodeRun(tmp_path, "n", "s", False, None, (check,)), lambda: None)
    assert found is not None
    assert found.sentence == "what is slow was not localised: the documents that were judged are missing"


@pytest.mark.parametrize(("part", "group"), [
    ("g1.link", "lane"), ("g1.h2d", "lane"), ("g1.memory", "gpu"), ("n0.memory", "numa"), ("p0-p1.link", "package-link"),
    ("g0-g1.link", "fabric"), ("switch:0000:81:00.0.down", "switch"),
])  # fmt: skip
def test_the_part_to_blame_is_marked_at_every_level(part: str, group: str) -> None:
    raw = large_nodes.sixteen() if "switch" in part else make_node("two", packages=2, gpus=[0, 0, 1, 1], nvlink="NV4")
    drawn = draw(node_from_document(raw), Findings(lanes={1: {}}, blamed={part: "FAIL"}))
    marked = set(re.findall(r'class="([a-z-]*) FAIL[ "]', drawn))
    assert group in marked and "✕" in drawn, marked
