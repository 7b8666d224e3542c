"""Each physical fact is judged once: by which figure, and what becomes of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.measurement import AnyMetric, Metric
from nearfar.model.prediction import load_node_type
from nearfar.question import ACCEPT, NIGHTLY, judged_elsewhere, named, questions
from nearfar.topology import Node
from nearfar.verdict import from_unused_references, judge
from nearfar.verdict.baseline import Baseline
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import ReferenceFile, known_checks, resolve
from tests.conftest import CHECKOUT
from tests.site.test_lint import PROVENANCE, said, site

FEATURES = {"gpu", "ranks", "mpi", "memory"}
SYSTEM = "system: mine\npartitions:\n  - {name: gpu, node_type: h200-x1-vm, features: [gpu]}\n"


def node_of(name: str) -> Node:
    return load_node_type(name, [CHECKOUT / "site"]).node


def judged(check: str, node: Node) -> list[AnyMetric]:
    return [m for m in named(check).known_figures(node, FEATURES) if judged_elsewhere(check, m) is None]


@pytest.mark.parametrize("node_type", ["h200-x1-vm", "h200-x2-vm", "h200-x4-vm", "summit", "keeneland", "titan"])
def test_every_check_with_figures_judges_one(node_type: str) -> None:
    node = node_of(node_type)
    for question in questions():
        if {NIGHTLY, ACCEPT} & {*question.levels} and question.known_figures(node, FEATURES):
            assert judged(question.name, node), question.name


@pytest.mark.parametrize("node_type", ["h200-x1-vm", "h200-x4-vm", "summit"])
def test_a_run_judges_no_cell_twice(node_type: str) -> None:
    node = node_of(node_type)
    rates = Counter(
        (m.quantity, m.cell, m.flow, m.derived)
        for question in questions() if ACCEPT in question.levels
        for m in judged(question.name, node) if isinstance(m, Metric)
    )  # fmt: skip
    assert [rate for rate, times in rates.items() if times > 1] == []


@pytest.mark.parametrize(
    "check, names",
    [
        ("host_device_check", ["sole.n0_g0", "sole.g0_n0", "sole.n0_g0__g0_n0.total", "sole.n0_g0.pageable"]),
        ("saturation_check", []),
        ("sharing_check", [f"sole_slowest_task.{way}.x{k}" for way in ("n0_g0", "g0_n0") for k in (2, 3, 4)]),
        ("size_sweep_check", ["sole_half_bandwidth.n0_g0", "sole_half_bandwidth.g0_n0"]),
        ("memory_kernels_check", ["local.c0_n0.triad.one", "sole.g0_n0.triad"]),
    ],
)
def test_what_one_gpu_is_judged_by(check: str, names: list[str]) -> None:
    assert [m.name for m in judged(check, node_of("h200-x1-vm"))] == names


def test_a_quick_look_judges_every_path() -> None:
    node = node_of("h200-x4-vm")
    assert judged("quick_check", node) == list(named("quick_check").known_figures(node))


def test_of_ranks_the_slowest_beside_its_gpu_is_judged() -> None:
    names = [m.name for m in judged("load_balance_check", node_of("h200-x4-vm")) if m.unit != "1"]
    assert names == ["saxpy.gpu.run_time", *(f"saxpy.gpu.least.{what}" for what in ("h2d", "d2h", "kernel"))]


# -- what becomes of the others ----------------------------------------------------------------------------------------

CHECK = "sharing_check"
ROWS = "sharing_check:\n  sole.h2d: [55.0, -0.05, null, GB/s]\n"
SUBJECT = CaseInfo(CHECK, "s", "p", "e", "n", "2026-11-20T00:00:00Z")


def slow_copy() -> tuple[Node, Metric]:
    node = node_of("h200-x1-vm")
    found = next(m for m in named(CHECK).known_figures(node) if m.name == "sole.n0_g0")
    assert isinstance(found, Metric)
    return node, replace(found, value=20.0, interval=(20.0, 20.0), median=20.0, least=20.0, most=20.0, converged=True)


def file_of(folder: Path, provenance: str, rows: str = ROWS) -> ReferenceFile:
    path = folder / "mine.yaml"
    path.write_text(provenance + rows)
    return ReferenceFile(path, known_checks())


def test_neither_a_tuned_row_nor_history_judges_it(tmp_path: Path) -> None:
    node, slow = slow_copy()
    found = resolve([slow], CHECK, [file_of(tmp_path, PROVENANCE)], node)
    assert found == {slow.name: None}
    past = {slow.name: Baseline((55.0, 55.1, 55.0, 55.2, 55.0, 55.1), "2026-10-01")}
    (entry,) = judge(None, found, past, subject=SUBJECT, metrics=[slow], acceptance=True).metrics
    assert (entry.verdict, entry.code, entry.value) == ("not judged", "figure.judged_elsewhere", 20.0)
    assert entry.reason is not None and entry.reason.endswith("not judged: host_device_check judges this path")


def test_a_check_that_judges_nothing_names_who_does() -> None:
    _, slow = slow_copy()
    (found,) = judge(None, {}, subject=SUBJECT, metrics=[slow], must_judge=True).findings
    assert (found.code, found.verdict) == ("check.judged_elsewhere", "INDETERMINATE")
    assert "host_device_check judges this path" in found.reason and "tune" not in found.reason


def test_the_slowest_task_has_a_history() -> None:
    node = node_of("h200-x1-vm")
    found = next(m for m in judged(CHECK, node) if m.name == "sole_slowest_task.n0_g0.x2")
    past = {found.name: Baseline((27.0, 27.1, 27.0, 27.2, 27.0, 27.1), "2026-10-01")}
    for value, verdict in ((27.0, "not judged"), (20.0, "DEGRADED")):
        slow = replace(found, value=value, least=value, most=value, converged=True)
        (entry,) = judge(None, {}, past, subject=SUBJECT, metrics=[slow]).metrics
        assert entry.verdict == verdict


def test_what_was_published_of_it_judges(tmp_path: Path) -> None:
    node, slow = slow_copy()
    published = file_of(tmp_path, "provenance: {published: {system: mine, source: a paper}}\n")
    found = resolve([slow], CHECK, [published], node, system="mine")
    (entry,) = judge(None, found, subject=SUBJECT, metrics=[slow]).metrics
    assert entry.verdict == "FAIL"


def test_a_figure_that_cannot_be_is_said_all_the_same() -> None:
    _, slow = slow_copy()
    (entry,) = judge(None, {}, subject=SUBJECT, metrics=[replace(slow, verified=False)]).metrics
    assert entry.verdict == "INDETERMINATE"


def test_rows_of_an_older_file_are_no_fault(tmp_path: Path) -> None:
    _, slow = slow_copy()
    file = file_of(tmp_path, PROVENANCE)
    assert from_unused_references([file], CHECK, [slow], {slow.name: None}, []) == []
    here = site(tmp_path / "site", systems_mine=SYSTEM.replace("features", "references: mine, features"),
                references_mine=PROVENANCE + ROWS)  # fmt: skip
    (line,) = said(here)
    assert line.endswith(
        "info: sharing_check: sole.h2d: no longer judged, as host_device_check judges this path: may be removed"
    )
