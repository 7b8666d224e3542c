"""The figures and findings of documents of ``nearfar-kernels``, and what the judge makes of them; documents are made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from nearfar import question, verdict
from nearfar.base import NOT_JUDGED
from nearfar.measurement import Document, from_raw
from nearfar.verdict import CaseInfo, Verdict, references
from tests.support import kernel_documents as made

X4 = made.node_type("h200-x4-vm")
GEMM = question.named("gemm_check")


def gemms(
    slow: dict[str, float] | None = None, names: tuple[str, ...] = ("sgemm", "dgemm"), **more: Any
) -> list[dict[str, Any]]:
    """Matrix products of four GPUs; ``slow``: the rate of a GPU as a part of the others'. ``more``: of GPU 0's results."""
    found = []
    for gpu in range(4):
        for name in names:
            mine = made.results_of(X4, f"g{gpu}.n0", name, "today", **(more if gpu == 0 else {}))
            for entry in mine:
                if entry["quantity"].endswith(".rate"):
                    entry["flows"][0]["rate"] = made.rate("GFLOP/s", 50_000 * (slow or {}).get(f"g{gpu}", 1.0))
            found += mine
    return found


def judged(document: Document, known: dict[str, Any] | None = None) -> Verdict:
    """The verdict of gemm_check."""
    figures = GEMM.figures(document, X4.node)
    found = references.resolve(figures, GEMM.name, [], X4.node)
    case = CaseInfo(GEMM.name, "x", "gpu", "builtin", "n1", "2026-11-20T09:00:00Z")
    asked, left_out = GEMM.cells(X4.node)
    return verdict.judge(
        document, {**found, **(known or {})}, subject=case, metrics=figures, asked=asked, left_out=left_out,
        findings=GEMM.findings(document), quantities=GEMM.quantities,
    )  # fmt: skip


def test_each_gpu_is_asked_once_from_its_nearest_memory() -> None:
    asked, left_out = GEMM.cells(made.node_type("keeneland").node)
    assert (asked, left_out) == (["g0.n0", "g1.n1", "g2.n1"], [])
    every, _ = question.named("kernel_penalty_check").cells(made.node_type("keeneland").node)
    assert every == [f"g{gpu}.n{numa}" for gpu in range(3) for numa in range(2)]


def test_alike_gpus_have_alike_rates() -> None:
    found = judged(made.document(X4, gemms(), skipped=left_out_bf16()))
    assert {metric.name for metric in found.metrics} == {
        f"device_local.g{g}.{k}_today_rate" for g in range(4) for k in ("sgemm", "dgemm")
    }
    assert {metric.verdict for metric in found.metrics} == {"PASS"}
    assert {metric.engine for metric in found.metrics} == {"sm"}
    assert [metric.gpus for metric in found.metrics][:2] == [(0,), (0,)]


def left_out_bf16(gpus: tuple[int, ...] = (0, 1, 2, 3)) -> list[dict[str, str]]:
    words = "cuBLAS of version 11 is there, and 12 was built with"
    return [{"cell": f"g{gpu}.n0/bf16gemm", "code": "missing_library", "reason": words} for gpu in gpus]


def test_a_gpu_below_its_like_is_degraded_and_the_throttle_reason_explains_it() -> None:
    state = {"throttle": ["hw_thermal", "sw_power_cap"], "sm_clock_mhz": 900}
    found = judged(made.document(X4, gemms({"g0": 0.7}, state=state)))
    slow = {metric.name: metric for metric in found.metrics if metric.verdict != "PASS"}
    assert set(slow) == {"device_local.g0.sgemm_today_rate", "device_local.g0.dgemm_today_rate"}
    reason = slow["device_local.g0.sgemm_today_rate"].reason or ""
    assert slow["device_local.g0.sgemm_today_rate"].verdict == "DEGRADED"
    assert "siblings" in reason and "clocks were reduced meanwhile (hw_thermal, sw_power_cap, at 900 MHz)" in reason
    assert all(metric.throttled == (metric.gpus == (0,)) for metric in found.metrics)
    (clocks,) = [each for each in found.findings if each.subject == "g0.clocks"]
    assert (clocks.verdict, clocks.fields["causes"]) == ("DEGRADED", ["hw_thermal"])


def test_the_power_limit_is_where_a_matrix_product_runs() -> None:
    found = judged(made.document(X4, gemms(state={"throttle": ["sw_power_cap"]})))
    assert not any(metric.throttled for metric in found.metrics)
    assert not [each for each in found.findings if each.subject == "g0.clocks"]


@pytest.mark.parametrize("errors, word", [({"corrected": 3}, "DEGRADED"), ({"uncorrected": 1, "corrected": 3}, "FAIL")])
def test_memory_errors_meanwhile_are_marked_and_judged(errors: dict[str, int], word: str) -> None:
    found = judged(made.document(X4, gemms(ecc_errors=errors), skipped=left_out_bf16()))
    assert {metric.name: metric.disturbance for metric in found.metrics}[
        "device_local.g0.sgemm_today_rate"
    ] == "memory_errors"
    assert {metric.disturbance for metric in found.metrics if metric.gpus != (0,)} == {None}
    (memory,) = [each for each in found.findings if each.subject == "g0.memory"]
    assert (memory.verdict, memory.fields["kernels"]) == (word, ["sgemm", "dgemm"])


def test_wrong_answers_fail() -> None:
    results = [entry for entry in gemms() if entry["cell"] != "g0.n0" or ".dgemm." not in entry["quantity"]]
    reason = "g0.n0/dgemm: Freivalds' check found 3 wrong rows"
    found = judged(made.document(X4, results, failed=[{"cell": "g0.n0/dgemm", "code": "wrong_data", "reason": reason}]))
    assert found.verdict == "FAIL" and any(reason in each for each in found.reasons)


def test_a_missing_library_is_said_and_never_green() -> None:
    found = judged(made.document(X4, gemms(), skipped=left_out_bf16()))
    assert found.verdict == "INDETERMINATE" and any("cuBLAS of version 11" in reason for reason in found.reasons)
    assert not [each for each in found.findings if each.subject == "missing"], "its reason is known"
    silent = judged(made.document(X4, gemms(), skipped=left_out_bf16((0, 1))))
    (missing,) = [each for each in silent.findings if each.subject == "missing"]
    assert missing.fields == {"kernels": ["g2.n0/bf16gemm", "g3.n0/bf16gemm"]}


def test_smaller_sizes_have_names_and_rows_of_their_own() -> None:
    small = "1 GiB of GPU memory was free, 3 GiB are usual"
    document = made.document(X4, gemms(smaller=small), skipped=left_out_bf16())
    found = judged(document)
    mine = [metric for metric in found.metrics if metric.gpus == (0,)]
    assert [metric.name for metric in mine] == [
        f"device_local_smaller_size.g0.{kernel}_today_rate" for kernel in ("sgemm", "dgemm")
    ]
    assert mine[0].rows == (
        "device_local_smaller_size.g0.sgemm_today_rate",
        "device_local_smaller_size.sgemm_today_rate",
    )
    assert mine[0].verdict == NOT_JUDGED, "three like it are no siblings of another size"
    assert small in [each.fields["line"] for each in found.findings if each.code == "kernels.smaller_size"]


def test_switches_of_the_tensor_cores_are_named() -> None:
    document = made.raw(X4, gemms(), skipped=left_out_bf16())
    document["node"]["software"] = {"tensor_modes": "NVIDIA_TF32_OVERRIDE=0"}
    found = judged(from_raw(document, "made by hand"))
    (note,) = [each for each in found.findings if each.subject == "tensor_modes"]
    assert (note.verdict, note.fields) == (NOT_JUDGED, {"modes": "NVIDIA_TF32_OVERRIDE=0"})
    assert found.software["tensor_modes"] == "NVIDIA_TF32_OVERRIDE=0"


def test_what_was_not_verified_proves_nothing() -> None:
    found = judged(made.document(X4, gemms(verified=None), skipped=left_out_bf16()))
    assert {metric.verdict for metric in found.metrics if metric.gpus == (0,)} == {"INDETERMINATE"}


def test_lint_knows_every_figure() -> None:
    """Of a node and of less memory: what the check can print stands among the figures known without measuring."""
    for name in ("gemm_check", "kernel_penalty_check"):
        check = question.named(name)
        known = {figure.name for figure in check.known_figures(X4.node)}
        document = made.document(X4, gemms(smaller="memory is in use") if name == "gemm_check" else gemms())
        assert {figure.name for figure in check.figures(document, X4.node)} <= known
