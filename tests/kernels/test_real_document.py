"""What nearfar-kernels printed on two H200s: read, judged without references, and on a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import kernels, measurement, question, verdict
from nearfar.base import NOT_JUDGED
from nearfar.report.blocks import Table
from nearfar.report.sections import check_blocks
from nearfar.verdict import CaseInfo, references

DOCUMENT = measurement.load(Path(__file__).parents[1] / "data/h200-x2-kernels/kernels.json")

#: The kernel that came after it was measured.
YOUNGER = "dmd"


def judged(check: str) -> verdict.Verdict:
    """The verdict of a check, without references."""
    asked = question.named(check)
    figures = asked.figures(DOCUMENT, DOCUMENT.node)
    case = CaseInfo(check, "local", "default", "system", "vm", str(DOCUMENT.raw["started"]))
    return verdict.judge(
        DOCUMENT, references.resolve(figures, check, [], DOCUMENT.node), subject=case, metrics=figures, asked=asked.cells(DOCUMENT.node)[0],
        findings=asked.findings(DOCUMENT), quantities=asked.quantities,
    )  # fmt: skip


def test_every_kernel_was_read_at_both_sizes_on_both_gpus() -> None:
    runs = kernels.runs(DOCUMENT)
    assert {run.kernel for run in runs} == set(kernels.KERNELS) - {YOUNGER} and len(runs) == 12 * len(kernels.SIZES) * 2
    for run in runs:
        times = {what: run.rate(what) for what in ("in", "compute", "out", "total", "overlapped", "rate")}
        assert all(rate is not None and rate.value > 0 for rate in times.values()), run.words
        parts = sum(times[what].value for what in ("in", "compute", "out"))  # type: ignore[union-attr]
        total, overlapped = times["total"].value, times["overlapped"].value  # type: ignore[union-attr]
        assert 0.98 * parts < total < 1.25 * parts, (
            f"{run.words}: in turn is in, kernel and out, and what launches cost"
        )
        assert overlapped < total, run.words
        assert run.state.clock and not run.state.held_down


def test_the_power_limit_is_met_by_a_healthy_gpu_and_marks_nothing() -> None:
    met = [run for run in kernels.runs(DOCUMENT) if "sw_power_cap" in run.state.throttle]
    assert {(run.kernel, run.about.gpu) for run in met} == {("bf16gemm", 1), ("reduction", 1)}
    assert not any(metric.throttled for metric in judged("gemm_check").metrics)


@pytest.mark.parametrize("check", ["gemm_check", "kernel_penalty_check"])
def test_a_healthy_node_without_references_is_blamed_for_nothing(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    older = tuple(name for name in kernels.KERNELS if name != YOUNGER)
    for module in (kernels, kernels.names):
        monkeypatch.setattr(module, "KERNELS", older)
    found = judged(check)
    # Two GPUs are too few to be siblings.
    assert found.verdict == NOT_JUDGED, found.reasons
    assert {metric.verdict for metric in found.metrics} == {NOT_JUDGED} and not found.missing


def test_it_has_one_numa_node_and_no_second_class() -> None:
    tables = check_blocks([], DOCUMENT.raw, None)
    assert sum(len(each.rows) for each in tables if isinstance(each, Table)) == 48
