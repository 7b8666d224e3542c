"""Nodes, files and documents that are out of the ordinary: no wrong verdict, no misleading green, no traceback."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.cells import Skip, host_device_matrix, parse, stream_left_out
from nearfar.measurement import Document
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import load_node_type
from nearfar.question import topology_check
from nearfar.site import topology_diff
from nearfar.site.systems import Partition, System
from nearfar.topology import Link, Node, NumaNode, compare, node_to_document
from nearfar.verdict import from_unused_references, references
from nearfar.verdict.references import Reference, resolution, resolve
from tests.conftest import CHECKOUT
from tests.verdict.test_references import CHECK, NODE, TUNED, metric, one, reference_file
from tests.verdict.test_verdict import SUBJECT, document, judge, judged

C2C = replace(NODE, gpus=tuple(replace(gpu, link=Link("c2c", speed=450.0)) for gpu in NODE.gpus))
#: NUMA node 2 is memory without CPUs.
CXL = replace(NODE, numa_nodes=(*NODE.numa_nodes, NumaNode(2, 0, (), 1 << 37)))
#: The last GPU sits in a narrow slot.
MIXED = replace(NODE, gpus=(*NODE.gpus[:7], replace(NODE.gpus[7], link=Link("pcie", 1, 8, 5, 8))))


def loads(width: dict[int, int]) -> dict[int, dict]:
    """``gpus_under_load`` of GPUs by the index that the programs were asked with."""
    return {index: {"index": index, "link": {"gen": 5, "width": lanes}} for index, lanes in width.items()}


def without(node: Node, index: int) -> Node:
    """A node that lost a GPU, counted anew as the system sees it."""
    left = [gpu for gpu in node.gpus if gpu.index != index]
    return replace(node, gpus=tuple(replace(gpu, index=new) for new, gpu in enumerate(left)))


def test_a_slow_link_is_its_own_gpus_though_one_before_it_is_gone() -> None:
    found = compare(NODE, without(NODE, 1), loads({index: 8 if index == 5 else 16 for index in range(8) if index != 1}))
    assert [d.subject for d in found if "link" in d.subject] == ["g5.link.width"]


def test_a_link_whose_state_could_not_be_read_is_compared_by_what_it_can_do() -> None:
    observed = replace(NODE, gpus=MIXED.gpus)
    unread = {7: {"index": 7, "link": {"gen": None, "width": None}}}
    assert [d.subject for d in compare(NODE, observed, unread)] == ["g7.link.width"]


def test_a_modelled_document_judges_no_real_node() -> None:
    found = judged(document({"n0:g0": 55.5}, kind="modelled"))
    assert (found["verdict"], found["kind"]) == ("INDETERMINATE", "measured")


def test_a_rate_of_nothing_is_no_figure() -> None:
    measured = metric("c0:n0/triad", 0.0, "local")
    assert judge(None, {}, subject=SUBJECT, metrics=[measured])["verdict"] == "INDETERMINATE"


def test_a_reference_without_bounds_accepts_nothing() -> None:
    boundless = Reference(55.0, None, None, "GB/s", "published", "a table")
    words = [
        judge(None, {m.name: boundless}, subject=SUBJECT, metrics=[m], acceptance=acceptance)["verdict"]
        for m in [metric("n0:g0", 1.0)]
        for acceptance in (False, True)
    ]
    assert words == [NOT_JUDGED, "INDETERMINATE"]


def test_a_figure_that_no_tune_can_limit_does_not_keep_a_node_from_acceptance() -> None:
    limited = Reference(55.0, -0.1, None, "GB/s", "tuned", "n = 3")
    noisy = Reference(8.0, None, None, "GB/s", "tuned", "n = 3")
    metrics = [metric("n0:g0", 55.0), metric("n0:g0/pageable", 7.0)]
    references = {metrics[0].name: limited, metrics[1].name: noisy}
    found = judge(None, references, subject=SUBJECT, metrics=metrics, acceptance=True)
    assert [m["verdict"] for m in found["metrics"]] == ["PASS", NOT_JUDGED] and not found["findings"], found
    assert found["metrics"][1]["code"] == "figure.no_limit"
    alone = judge(None, references, subject=SUBJECT, metrics=metrics[1:], acceptance=True, must_judge=True)
    assert (alone["verdict"], alone["findings"][0]["code"]) == ("INDETERMINATE", "check.no_limits")


@pytest.mark.parametrize(
    "old, new, line, words",
    [
        ("55.5, -0.02", ".nan, -0.02", 5, "finite"),
        ("55.5, -0.02", "55.5, .nan", 5, "finite"),
        ("55.5, -0.02", "0, -0.02", 5, "expected a value above zero"),
        ("  H200:", "  '*H200':", 4, "not a regular expression"),
        ("  H200:", "  4090:", 4, "put it in quotes"),
        ("    near.h2d:", "    7:", 5, "put it in quotes"),
        ("null, GB/s", "null, MB/s", 5, "found 'MB/s'"),
    ],
)
def test_references_that_would_never_be_compared(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(NearfarError, match=rf"refs.yaml:{line}: .*{words}"):
        reference_file(tmp_path, TUNED.replace(old, new))


def test_a_wide_slots_reference_stands_beside_a_narrow_slot(tmp_path: Path) -> None:
    reference = resolve([metric("n0:g0", 55.5)], CHECK, [reference_file(tmp_path, TUNED)], MIXED)["near.n0_g0"]
    assert reference is not None and reference.origin == "tuned"


def test_nothing_is_asserted_about_ratios_over_c2c() -> None:
    ratio = metric("n1:g0", 0.3, "off_socket_over_near")
    assert resolve([ratio], CHECK, [], C2C)[ratio.name] is None


def test_memory_without_cpus_is_not_judged_by_the_gpus_link() -> None:
    figures = [metric("n2:g0@n0", 25.0, "on_socket"), metric("n2:g0@n0", 0.45, "on_socket_over_near")]
    assert set(resolve(figures, CHECK, [], CXL).values()) == {None}


def test_streams_into_memory_without_cpus_have_siblings_of_their_kind() -> None:
    far = [metric(f"c{c}:n{m}/triad", 100.0, "on_socket") for c in (0, 1) for m in (0, 1)]
    slow = metric("c0:n2/triad", 30.0, "on_socket")
    assert resolve([*far, slow], "host_memory_check", [], CXL)[slow.name] is None


def test_streams_that_the_cpuset_forbids_are_told() -> None:
    fewer = replace(NODE, allowed_cpus=(0, 1), allowed_numa_nodes=(0,))
    assert {(str(s.cell), s.code) for s in stream_left_out(fewer)} == {
        ("c0:n1/triad", "not_allowed"),
        ("c1:n0/triad", "not_allowed"),
        ("c1:n1/triad", "not_allowed"),
    }
    assert stream_left_out(NODE) == stream_left_out(CXL) == []
    many = replace(NODE, numa_nodes=tuple(NumaNode(i, i // 16, (i,), 1 << 30) for i in range(32)))
    assert {s.code for s in stream_left_out(many)} == {"representative"}


def test_a_gpu_that_no_cell_can_load_is_told_by_the_topology() -> None:
    hidden = replace(NODE, gpus=tuple(replace(gpu, visible=gpu.index != 3) for gpu in NODE.gpus))
    matrix, left_out = host_device_matrix(hidden)
    assert [(str(s.cell), s.code) for s in topology_check.unloaded(matrix, left_out)] == [("n0:g3", "denied")]
    assert topology_check.unloaded(matrix, [Skip(parse("n1:g0"), "elsewhere", "not_allowed")]) == []


def document_of(node: Node, width: int | None) -> Document:
    under_load = [{"index": gpu.index, "link": {"gen": 5, "width": width}} for gpu in node.gpus]
    return from_raw({
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy"},
        "node": node_to_document(node), "results": [], "skipped": [], "failed": [], "gpus_under_load": under_load,
    })  # fmt: skip


@pytest.mark.parametrize(
    "named, width, items",
    [
        (True, 16, []),
        (False, 16, ["topology.partly_compared"]),
        (True, None, ["topology.links_not_seen"]),
    ],
)
def test_what_was_not_compared_is_no_acceptance(named: bool, width: int | None, items: list[str]) -> None:
    node_type = replace(load_node_type("keeneland", [CHECKOUT / "site"]), expect={})
    partition = Partition("gpu", expect={"gpus": len(NODE.gpus)})
    system = System("mine", {"gpu": partition}, file=Path("site/systems/mine.yaml"))
    for acceptance, word in ((False, NOT_JUDGED), (True, "INDETERMINATE")):
        found = topology_diff.findings(
            system, partition, node_type if named else None, NODE, NODE, document_of(NODE, width), acceptance
        )
        assert [f.verdict for f in found] == ["PASS", *[word] * len(items)]
        assert [f.code for f in found[1:]] == items


def test_a_reference_in_another_unit_than_its_figure(tmp_path: Path) -> None:
    file = reference_file(
        tmp_path, TUNED.replace("near.h2d: [55.5, -0.02, null, GB/s]", "near.n0_g0: [55, -1, null, MB/s]")
    )
    with pytest.raises(NearfarError, match=r"near.n0_g0 is in 'GB/s', its reference in 'MB/s'"):
        one(metric("n0:g0", 55.5), file)
    assert references.row_keys(metric("n0:g0", 1.0))[0] == "near.n0_g0"


def test_each_figure_is_grouped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight GPUs by eight NUMA nodes are hundreds of figures: nothing may be done for each pair of them."""
    calls = []
    group = resolution._sibling_group
    monkeypatch.setattr(resolution, "_sibling_group", lambda metric, node: calls.append(metric) or group(metric, node))
    figures = [metric(f"n{numa}:g{gpu}", 55.0) for numa in range(8) for gpu in range(8)]
    resolve(figures, CHECK, [], NODE)
    assert len(calls) == len(figures)


def test_all_gpus_gone_is_one_sentence() -> None:
    (difference,) = compare(NODE, replace(NODE, gpus=()))
    assert difference.subject == "gpus"
    assert difference.reason.startswith(f"none of the {len(NODE.gpus)} GPUs is on the PCI bus")


def test_tuned_references_that_fit_nothing_are_told(tmp_path: Path) -> None:
    file = reference_file(tmp_path, TUNED.replace("    near.h2d", "    naer.h2d"))
    figures = [metric("n0:g0", 55.0)]
    found = resolve(figures, CHECK, [file], NODE)
    (finding,) = from_unused_references([file], CHECK, figures, found, ["NVIDIA H200"])
    assert (finding.code, finding.verdict) == ("references.unused", "INDETERMINATE")
    assert (finding.fields["check"], finding.fields["models"]) == (CHECK, ["NVIDIA H200"])
    assert from_unused_references([file], "another_check", figures, found, []) == []


def test_tuned_references_that_fit_something_are_not_told(tmp_path: Path) -> None:
    file = reference_file(tmp_path, TUNED)
    figures = [metric("n0:g0", 55.0)]
    found = resolve(figures, CHECK, [file], NODE)
    assert any(reference is not None and reference.origin == "tuned" for reference in found.values())
    assert from_unused_references([file], CHECK, figures, found, []) == []
