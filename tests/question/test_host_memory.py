"""What STREAM of cores is shown as a part of, and what cannot be true of it: the peak of the DIMMs, where a file or the machine tells."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from nearfar import measurement, question, topology, verdict
from nearfar.cells import parse
from nearfar.measurement import Document, Rate
from nearfar.model.prediction import implied_capacities, load_node_type
from nearfar.question import synthetic_documents
from nearfar.question.question import of_cell
from nearfar.report.figures import figures
from nearfar.report.headline import check_line
from nearfar.topology import Node, NumaNode, Package, node_from_document, node_to_document
from nearfar.verdict import CaseInfo
from tests.conftest import CHECKOUT

CASE = CaseInfo("host_memory_check", "s", "p", "e", "cn01", "2026-11-23T00:00:00Z")


def node_with(*peaks: float | None) -> Node:
    """A node of so many packages of one NUMA node each; their memories' peaks."""
    packages = tuple(Package(p, tuple(range(8 * p, 8 * p + 8))) for p in range(len(peaks)))
    numa = tuple(NumaNode(p.index, p.index, p.cpus, 1 << 37, peak=peaks[p.index]) for p in packages)
    return Node("cn01", packages, numa)


def at(rate: Rate, value: float) -> Rate:
    return replace(rate, median=value, least=value, most=value)


def document_of(node: Node, rates: dict[str, float]) -> Document:
    made = synthetic_documents.of_cells([parse(cell) for cell in rates], node, of_cell)
    made.raw.update(results=[], skipped=[], failed=[])
    results = []
    for result in made.results:
        each = rates[result.subject] / len(result.flows)
        flows = tuple(replace(flow, rate=at(flow.rate, each)) for flow in result.flows)
        total = None if result.total is None else at(result.total, rates[result.subject])
        results.append(replace(result, flows=flows, total=total))
    return replace(made, results=tuple(results))


def judged(node: Node, rates: dict[str, float]) -> verdict.Verdict:
    document = document_of(node, rates)
    found = measurement.metrics(document, node)
    return verdict.judge(document, dict.fromkeys(m.name for m in found), subject=CASE, metrics=found)


RATES = {
    "c0:n0/triad": 240.0,
    "c1:n1/triad": 250.0,
    "c1:n0/triad": 110.0,
    "c0:n0/triad/one": 15.0,
    "c0:n0/triad+c1:n1/triad": 480.0,
}


def record(found: verdict.Verdict) -> Any:
    return SimpleNamespace(name="host_memory_check", verdict=found, document={})


def line_of(node: Node, rates: dict[str, float]) -> str:
    return check_line(record(judged(node, rates)), SimpleNamespace(node=node))  # type: ignore[arg-type]


def test_figures_are_parts_of_the_peak() -> None:
    found = judged(node_with(300.0, 320.0), RATES)
    shown = {str(f.cell): f.of_peak for f in figures(record(found), "") if f.flow is None}
    assert shown == {
        "c0:n0/triad": "80 % of the peak", "c1:n1/triad": "78 % of the peak", "c1:n0/triad": "37 % of the peak",
        "c0:n0/triad/one": "5 % of the peak", "c0:n0/triad+c1:n1/triad": "77 % of the peak",
    }  # fmt: skip


def test_nothing_is_a_part_of_what_is_not_known() -> None:
    found = judged(node_with(300.0, None), RATES)
    shown = {str(f.cell): f.of_peak for f in figures(record(found), "") if f.flow is None}
    assert shown["c0:n0/triad"] and not shown["c1:n1/triad"] and not shown["c0:n0/triad+c1:n1/triad"]


def test_two_that_stream_from_one_memory_share_its_peak() -> None:
    found = judged(node_with(300.0, 300.0), {"c0:n0/triad+c1:n0/triad": 270.0})
    assert [f.of_peak for f in figures(record(found), "") if f.flow is None] == ["90 % of the peak"]


def test_more_than_the_dimms_carry_was_not_measured() -> None:
    found = judged(node_with(300.0), {"c0:n0/triad": 330.0})
    (figure,) = found.metrics
    assert figure.verdict == "INDETERMINATE" and "above what its memory can carry, 300.0 GB/s" in str(figure.reason)
    (figure,) = judged(node_with(300.0), {"c0:n0/triad": 295.0}).metrics
    assert figure.verdict == "not judged"


def test_the_terminal_says_it() -> None:
    lone = {cell: rate for cell, rate in RATES.items() if cell != "c1:n0/triad"}
    line = line_of(node_with(300.0, 320.0), lone)
    for words in (
        "STREAM triad 240.0–250.0 GB/s, 78–80 % of the peak", "all at once 480.0 GB/s, 77 % of the peak",
        "STREAM triad one 15.0 GB/s, 5 % of the peak",
    ):  # fmt: skip
        assert words in line
    assert "peak" not in line_of(node_with(None, None), lone)


def test_a_site_file_declares_it_and_the_machine_fills_what_none_declares() -> None:
    summit = load_node_type("summit", [CHECKOUT / "site"])
    assert [numa.peak for numa in summit.node.host_numa_nodes] == [170, 170]
    assert summit.capacities["n0.memory"].value == 137.3 and summit.capacities["n0.memory"].peak == 170
    declared, seen = node_with(300.0, None), node_with(1.0, 310.0)
    assert [n.peak for n in topology.with_peaks_of(declared, seen).numa_nodes] == [300.0, 310.0]
    assert topology.with_peaks_of(declared, None) == declared
    assert node_from_document(node_to_document(seen)) == seen


def test_it_is_the_best_case_of_a_prediction() -> None:
    assert implied_capacities(node_with(300.0))["n0.memory"].best == 300.0


def test_both_checks_ask_all_kernels_and_all_numbers_of_cores() -> None:
    node = node_with(None, None)
    asked = {
        str(cell)
        for name in ("host_memory_check", "memory_kernels_check")
        for cell in question.named(name).cells(node)[0]
    }
    assert asked >= {f"c0:n0/{kernel}" for kernel in ("copy", "scale", "add", "triad")}
    assert asked >= {f"c1:n1/triad/{share}" for share in ("one", "half", "butone")}
    assert asked >= {f"c0:n0/{kernel}+c1:n1/{kernel}" for kernel in ("copy", "scale", "add", "triad")}


def test_a_numa_node_of_one_core_has_no_part_of_its_cores() -> None:
    node = node_with(None, None)
    alone = replace(node.numa_nodes[1], cpus=(8, 9))
    node = replace(node, numa_nodes=(node.numa_nodes[0], alone), cores=((8, 9),))
    asked = [str(cell) for cell in question.named("memory_kernels_check").cells(node)[0]]
    assert "c0:n0/triad/one" in asked and not [cell for cell in asked if cell.startswith("c1:n1/triad/")]
    for cores, shares in ((2, {"one"}), (3, {"one", "butone"}), (4, {"one", "half", "butone"})):
        some = question.named("memory_kernels_check").cells(replace(node, allowed_cpus=tuple(range(cores))))[0]
        assert {flow.cores for cell in some for flow in cell.flows if flow.cores} == shares, "each number of cores once"
    fewer = replace(node, allowed_cpus=(0,))
    assert not [cell for cell in question.named("memory_kernels_check").cells(fewer)[0] if "triad" in str(cell)]
