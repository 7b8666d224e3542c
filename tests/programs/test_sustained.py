"""nearfar-kernels --sustain on emulated GPUs, from the program to the verdict of burn_check and its table."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import measurement, question, verdict
from nearfar.measurement import Document
from nearfar.report.blocks import Table
from nearfar.report.sections import check_blocks
from nearfar.verdict import CaseInfo, Verdict
from tests.support.emulated import Emulated, emulated_programs

CHECK = question.named("burn_check")


@pytest.fixture(scope="module")
def emulated(build_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    return emulated_programs(build_folder, tmp_path_factory.mktemp("emulated"))


def command(emulated: Emulated, *words: str) -> list[str]:
    return [str(emulated.programs / "emulated-kernels"), "--size", "small", "--json", "--sustain", *words]


def loaded(emulated: Emulated, *words: str, code: int = 0, settings: str = "") -> Document:
    """The document of two GPUs under load."""
    ended = emulated.start(command(emulated, *words), 2, settings)
    document = ended.document()
    assert ended.code == code, f"{document['skipped']} {document['failed']} {ended.errors}"
    return measurement.document.from_raw(document, "emulated-kernels")


def judged(document: Document, *asked: str) -> Verdict:
    """The verdict of the check."""
    subject = CaseInfo("burn_check", "s", "p", "e", "n", "2026-11-20T00:00:00Z")
    figures = CHECK.figures(document, document.node)
    return verdict.judge(
        document, {}, subject=subject, metrics=figures, asked=asked, findings=CHECK.findings(document), quantities=CHECK.quantities
    )  # fmt: skip


def failures(document: Document) -> list[tuple[str, str]]:
    return [(entry.cell, entry.code) for entry in document.failed]


def test_each_second_of_a_gpu_is_known_and_a_hot_one_fails(emulated: Emulated) -> None:
    document = loaded(emulated, "3", settings="hot=1")
    for raw in document.raw["results"]:
        series = raw["series"]
        assert 2 <= len(series) <= 3 and all(a["at"] < b["at"] for a, b in itertools.pairwise(series))
        assert sum(each["products"] for each in series) == raw["verified"]["copies"] == raw["verified"]["seen"]
        assert all(each["wrong"] == 0 and each["rate"] > 0 and each["power_w"] == 500 for each in series)
        assert raw["flows"][0]["rate"]["n"] == len(series) and raw["kernel"] == "bf16gemm"
    names = [figure.name for figure in CHECK.figures(document, document.node)]
    assert names == [f"device_local.g{gpu}.bf16gemm_sustained_rate" for gpu in (0, 1)]
    made = judged(document, "g0", "g1")
    assert made.verdict == "FAIL" and not any(finding.hard for finding in made.findings)
    right, held = (finding for finding in made.findings if finding.code.startswith("sustained"))
    assert right.verdict == "PASS" and right.fields["gpus"] == 2
    assert held.reason == (
        "GPU 1 (0000:11:00.0): its hardware reduced the clocks at full load (hw_slowdown, hw_thermal), first in second 1, "
        f"in {held.fields['seconds']} seconds in all; at most 91 °C: check cooling and power"
    )
    (table,) = check_blocks([], document.raw, None)
    assert isinstance(table, Table)
    assert [row.entries[2].words for row in table.rows] == [
        "1500 MHz, 500 W, 40 °C, sw_power_cap",
        "600 MHz, 500 W, 91 °C, sw_power_cap, hw_slowdown, hw_thermal",
    ]


@pytest.mark.parametrize("kernel", ["bf16gemm", "sgemm", "dgemm"])
def test_one_wrong_product_of_hundreds_fails_and_names_the_gpu(emulated: Emulated, kernel: str) -> None:
    document = loaded(
        emulated, "1", "g1", "--kernels", kernel, code=1, settings="wrong_product=77,wrong_only=150,wrong_by=1"
    )
    assert failures(document) == [("g1", "wrong_data")]
    assert (
        document.failed[0].reason == "g1 (0000:11:00.0): 1 wrong element in second 1; wrong results in 1 of 1 seconds"
    )
    assert document.results[0].verified is None and document.raw["results"][0]["series"][0]["wrong"] == 1
    made = judged(document, "g1")
    assert made.verdict == "FAIL" and any(finding.hard for finding in made.findings)
    assert "sustained.all_right" not in {finding.code for finding in made.findings}


def test_a_product_that_is_always_wrong_fails_before_the_load(emulated: Emulated) -> None:
    document = loaded(emulated, "60", code=1, settings="wrong_product=77")
    assert failures(document) == [("g0", "wrong_data"), ("g1", "wrong_data")] and not document.results


@pytest.mark.parametrize("how, code", [("stall", "hang"), ("hang", "hang"), ("lose_later", "lost"), ("abort", "error")])
def test_a_gpu_that_stops_is_named_and_the_other_is_measured(emulated: Emulated, how: str, code: str) -> None:
    document = loaded(emulated, "2", "--timeout", "1", code=1, settings=f"fault=gemm@1:150:{how}")
    assert failures(document) == [("g1", code)] and ("g1 (0000:11:00.0)" in document.failed[0].reason or how == "abort")
    series = {result["cell"]: result["series"] for result in document.raw["results"]}
    # A process that aborts may have had a fault of its own.
    verdict = "INDETERMINATE" if code == "error" else "FAIL"
    assert series["g0"] and judged(document, "g0", "g1").verdict == verdict


def test_of_several_that_are_lost_at_once_a_new_process_finds_which(emulated: Emulated, tmp_path: Path) -> None:
    fault = f"fault=gemm@1:150:lose_later,process_is_lost=1,once={tmp_path / 'once'}"
    document = loaded(emulated, "1", settings=fault)
    assert {result.subject for result in document.results} == {"g0", "g1"}, "both answer again"


def test_an_interrupt_leaves_what_there_is(emulated: Emulated) -> None:
    running = subprocess.Popen(
        command(emulated, "30"), env=emulated.environment(2), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(2.5)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=20)
    document: dict[str, Any] = json.loads(output)
    assert running.returncode == 3 and document["interrupted"], errors
    assert all(1 <= len(result["series"]) < 10 for result in document["results"]) and len(document["results"]) == 2


def test_a_busy_gpu_is_left_out_and_memory_too_small_is_said(emulated: Emulated) -> None:
    document = loaded(emulated, "1", code=3, settings="memory=1000000")
    assert [(entry.cell, entry.code) for entry in document.skipped] == [("g0", "no_memory"), ("g1", "no_memory")]
    document = loaded(emulated, "1", code=3, settings="refusing=1")
    assert [entry.cell for entry in document.skipped] == ["g1"] and document.results[0].subject == "g0"


@pytest.mark.parametrize(
    "words, line",
    [
        (("0",), "--sustain needs a number from 1 to 3600 (whole), not '0'"),
        (("-1",), "--sustain needs a number from 1 to 3600 (whole), not '-1'"),
        (("x",), "--sustain needs a number from 1 to 3600 (whole), not 'x'"),
        (("1e9",), "--sustain needs a number from 1 to 3600 (whole), not '1e9'"),
        (("1", "g7"), "'g7': this node has no such GPU, of 2"),
        (("1", "n0"), "'n0' is no GPU: --sustain loads g0, g1 …, or all"),
        (("1", "--kernels", "sort"), "--sustain repeats one matrix product: use --kernels sgemm, dgemm or bf16gemm"),
        (("1", "--rounds", "2"), "--sustain sets the duration: leave out --list, --rate-only, --rounds and --budget"),
        (("1", "--device", "host"), "--sustain loads GPUs: leave out --device host"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(emulated: Emulated, words: tuple[str, ...], line: str) -> None:
    ended = emulated.start(command(emulated, *words), 2, "")
    assert (ended.code, ended.output, ended.errors) == (2, "", f"nearfar-kernels: {line}\n")
