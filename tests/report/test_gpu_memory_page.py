"""GPU memory of a real run on two H200s: read, judged without a tuned reference, and on the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import measurement, report
from nearfar.base import NOT_JUDGED
from nearfar.cells import parse
from nearfar.report.charts import CellGaps
from nearfar.report.sections.cell_maps import memory_matrices
from tests.data.runs import gpu_memory
from tests.report.test_report import Page


@pytest.mark.parametrize("check", gpu_memory.CHECKS)
def test_an_untuned_healthy_node_passes(check: str) -> None:
    made = gpu_memory.judged(check)
    assert made.verdict == ("PASS" if check == "gpu_memory_check" else NOT_JUDGED), made.reasons
    own = [m for m in made.metrics if m.path_class == "device_local" and m.cell is not None and m.cell.lone]
    assert len(own) == (2 if check == "gpu_memory_check" else 14)
    assert {m.reference and m.reference.origin for m in own} == {"model" if check == "gpu_memory_check" else None}
    assert all(m.verified for m in own)


@pytest.mark.parametrize(("factor", "word"), [(0.96, "PASS"), (0.93, "DEGRADED"), (0.54, "FAIL")])
def test_slow_memory_is_told_by_its_model(factor: float, word: str) -> None:
    made = gpu_memory.judged("gpu_memory_check", {"g1:g1/triad": factor})
    assert made.verdict == word
    assert all("GPU 1, its own memory, STREAM triad" in reason for reason in made.reasons)


def test_reading_or_writing_alone_is_nearer_the_peak_than_both() -> None:
    document = measurement.load(gpu_memory.REAL / "memory_kernels_check.json")
    rates = {str(m.cell): m.value / m.ceiling for m in measurement.metrics(document, document.node) if m.ceiling}
    alone = [rates[f"g0:g0/{kernel}"] for kernel in ("read", "write")]
    both = [rates[f"g0:g0/{kernel}"] for kernel in ("copy", "scale", "add")]
    assert min(alone) > 0.96 > 0.92 > max(both)


def test_the_page_has_each_gpu_by_kernel(tmp_path: Path) -> None:
    written = gpu_memory.write(tmp_path, {"g1:g1/triad": 0.9})
    page = Page(report.build(written))
    for words in ("Each GPU on its own memory", "All GPUs at once:", "triad", "% of the peak", "fill"):
        assert words in page.text, words
    assert "All NUMA nodes at once" not in page.text
    assert any(place.startswith("▼") and "82 % of the peak" in place for place in page.places)
    assert all(page.places)


def test_a_gpu_that_was_not_measured_has_its_place_and_no_map_without_kernels() -> None:
    why = CellGaps({parse("g1:g1/triad"): ("skipped", "in use")})
    (matrix,) = memory_matrices([], why, [0, 1])
    assert matrix.column_names == ("triad",)
    assert [row[0].reason for row in matrix.places] == ["this run did not ask for it", "in use"]
    assert memory_matrices([], CellGaps(), [0, 1]) == []


def test_the_page_has_triad_by_number_of_cores(tmp_path: Path) -> None:
    page = Page(report.build(gpu_memory.write(tmp_path)))
    for words in ("STREAM triad by number of cores", "One core", "Half of them", "All but one"):
        assert words in page.text, words
