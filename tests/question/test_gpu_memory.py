"""What the checks of GPU memory ask, and what judges it before anything is tuned."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from nearfar import cells, measurement, question, verdict
from nearfar.cells import parse
from nearfar.measurement import Document
from nearfar.question import synthetic_documents
from nearfar.question.question import of_cell
from nearfar.report.figures import figures, in_a_line
from nearfar.topology import Gpu, Node, NumaNode, Package
from nearfar.verdict import CaseInfo, references
from tests.conftest import CHECKOUT

OWN = [parse(f"g{gpu}:g{gpu}/triad") for gpu in range(2)]


def node_with(gpus: int) -> Node:
    cpus = tuple(range(8))
    made = [
        Gpu(index, f"0000:{index + 16:02x}:00.0", name="NVIDIA H200", numa_node=0, package=0) for index in range(gpus)
    ]
    return Node("cn01", (Package(0, cpus),), (NumaNode(0, 0, cpus, 1 << 37),), tuple(made))


def document_of(node: Node, rates: dict[str, float], ceiling: float | None = None, smaller: str = "") -> Document:
    """What nearfar-copy prints of these cells, with these rates in GB/s."""
    made = synthetic_documents.of_cells([parse(cell) for cell in rates], node, of_cell)
    made.raw.update(results=[], skipped=[], failed=[])
    results = tuple(
        replace(
            result,
            smaller=smaller,
            flows=tuple(
                replace(flow, ceiling=ceiling, rate=replace(flow.rate, median=rates[result.subject]))
                for flow in result.flows
            ),
        )
        for result in made.results
    )
    return replace(made, results=results)


def test_triad_of_each_gpu_then_of_all() -> None:
    asked, left_out = cells.gpu_memory(node_with(2))
    assert asked == [*OWN, parse("g0:g0/triad+g1:g1/triad")] and not left_out


def test_one_gpu_has_nothing_to_be_together_with() -> None:
    assert cells.gpu_memory(node_with(1))[0] == OWN[:1]
    assert cells.gpu_memory(node_with(0)) == ([], [])


def test_every_kernel_of_cores_and_gpus_is_asked_of_a_delivery() -> None:
    asked = {str(cell) for cell in cells.memory_kernels(node_with(2))[0]}
    assert {
        "c0:n0/copy",
        "c0:n0/scale",
        "c0:n0/add",
        "c0:n0/triad/one",
        "c0:n0/triad/half",
        "c0:n0/triad/butone",
    } <= asked
    assert {f"g1:g1/{kernel}" for kernel in ("copy", "scale", "add", "dot", "read", "write", "fill")} <= asked
    assert {"g0:n0/triad", "g0:g1/triad"} <= asked
    assert not asked & {"g0:g0/triad", "c0:n0/triad"}, "the nightly checks ask these"


def test_all_numa_nodes_at_once_with_every_kernel_where_there_are_two() -> None:
    one = node_with(0)
    two = replace(one, numa_nodes=(*one.numa_nodes, NumaNode(1, 0, (8, 9), 1 << 37)))
    together = [str(cell) for cell in cells.memory_kernels(two)[0] if not cell.lone]
    assert together[:3] == [f"c0:n0/{kernel}+c1:n1/{kernel}" for kernel in ("copy", "scale", "add")]
    # The second NUMA node has two cores: one of them can be left out, two cannot.
    assert together[3:] == [f"c0:n0/{kernel}/butone+c1:n1/{kernel}/butone" for kernel in cells.KERNELS]
    assert all(cell.lone for cell in cells.memory_kernels(one)[0])


def test_kernels_are_described_by_two_visits_and_the_judged_triad_takes_what_it_needs() -> None:
    assert question.named("memory_kernels_check").options == ("--rounds", "2")
    assert question.named("gpu_memory_check").options == ()


def test_who_asks() -> None:
    levels = {each.name: each.levels for each in question.questions()}
    assert levels["gpu_memory_check"] == ("nightly", "accept") and levels["memory_kernels_check"] == ("accept",)


@pytest.mark.parametrize(("nominal", "value"), [({}, 4900.0), ({"NVIDIA H200": 4800.0}, 4800.0)])
def test_untuned_memory_is_held_against_its_nominal_rate(nominal: dict[str, float], value: float) -> None:
    node = node_with(1)
    ranges = {
        model: {
            references.model_ranges.MEMORY: [references.model_ranges.HealthyRange(rate, rate, 0, "a data sheet", None)]
        }
        for model, rate in nominal.items()
    }
    (metric,) = measurement.metrics(document_of(node, {"g0:g0/triad": 4400.0}, ceiling=4900.0), node)
    (found,) = references.resolve([metric], "gpu_memory_check", [], node, ranges=ranges).values()
    assert found is not None and (found.value, found.lower, found.accepts) == (value, -0.5, False)
    assert "half of it a memory is broken" in found.note


def test_the_shipped_models_have_nominal_rates_with_their_source() -> None:
    ranges = references.model_ranges.read([CHECKOUT / "site"])
    for model, rate in (("NVIDIA H200", 4800), ("NVIDIA H100 80GB HBM3", 3350)):
        (memory,) = ranges[model][references.model_ranges.MEMORY]
        assert memory.high == rate and "data sheet" in memory.words


def test_four_alike_gpus_are_compared() -> None:
    node = node_with(4)
    rates = {f"g{gpu}:g{gpu}/triad": 4400.0 - 600 * (gpu == 3) for gpu in range(4)}
    figures = measurement.metrics(document_of(node, rates), node)
    found = references.resolve(figures, "gpu_memory_check", [], node)
    slow = next(metric for metric in figures if "g3_g3" in metric.name)
    assert (reference := found[slow.name]) is not None and reference.degraded_below is not None
    assert slow.value < reference.degraded_below


def test_a_smaller_size_is_another_figure_and_said() -> None:
    node = node_with(1)
    document = document_of(node, {"g0:g0/triad": 4100.0}, smaller="arrays of 512 MiB in the place of 2048 MiB")
    (metric,) = measurement.metrics(document, node)
    assert metric.name == "device_local_smaller_size.g0_g0.triad"
    assert cells.parse_metric_name(metric.name).cell == parse("g0:g0/triad")
    (note,) = question.named("gpu_memory_check").findings(document)
    assert "512 MiB in the place of 2048 MiB" in note.reason and note.verdict == "not judged"


def test_the_nightly_level_has_one_pageable_copy() -> None:
    asked, _ = question.named("host_device_check").cells(node_with(2))
    assert [str(cell) for cell in asked if cell.flows[0].pageable] == ["n0:g0/pageable"]
    assert question.named("host_device_check").cells(node_with(0))[0] == []


def test_a_check_of_gpu_memory_says_its_rates_in_a_line() -> None:
    node = node_with(2)
    rates = {"g0:g0/triad": 4400.0, "g1:g1/triad": 4420.0, "g0:g0/triad+g1:g1/triad": 8800.0}
    document = document_of(node, rates)
    subject = CaseInfo("gpu_memory_check", "s", "gpu", "system", "cn01", "2026-11-22T09:00:00Z")
    judged = verdict.judge(document, {}, subject=subject, metrics=measurement.metrics(document, node))
    found = figures(SimpleNamespace(verdict=judged), "")  # type: ignore[arg-type]
    line = in_a_line(found)
    assert line is not None and line.startswith("? within the GPU STREAM triad 4400–4420, ")
    line = in_a_line(found, "at once")
    assert line is not None and "triad 4400–4420" in line, "what did not pass is told beside what answers"
