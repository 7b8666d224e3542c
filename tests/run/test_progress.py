"""The lines while a run goes on: how many cases have ended, and how long the rest takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearfar.base import NOT_JUDGED
from nearfar.run import progress
from nearfar.run.earlier_seconds import earlier_seconds
from nearfar.run.expected_cases import ExpectedCase
from tests.support.verdicts import judged, judged_metric

CASES = [ExpectedCase(f"{name}_check", "redwood", "gpu", "system", False, "n1", "") for name in ("one", "two", "three")]


class Clock:
    """Stands for the clock: says what it is set to."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], earlier: dict[str, float],
          took: list[float]) -> list[str]:  # fmt: skip
    """What is said where each case takes that long."""
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    known = {(f"{name}_check", "gpu", "system"): seconds for name, seconds in earlier.items()}
    told = progress.RunProgress(CASES, tmp_path, False, known)
    for case, seconds in zip(CASES, took):
        where = f"{case.check} /0123abcd @redwood:gpu+system"
        told.reframe_said(f"[ RUN      ] {where}")
        clock.now += seconds
        told.reframe_said(f"[     SKIP ] (1/3) {where}")
    return capsys.readouterr().err.splitlines()


def test_the_time_left_is_that_of_earlier_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = lines(tmp_path, monkeypatch, capsys, {"one": 2.0, "two": 20.0, "three": 200.0}, [3.0, 21.0, 201.0])
    assert said == [
        "nearfar: [1/3] one_check: skipped; about 4 min left",  # 20 + 200, and 1 s beside each as of the first
        "nearfar: [2/3] two_check: skipped; about 3 min left",
        "nearfar: [3/3] three_check: skipped",
    ]


def test_without_an_earlier_run_the_cases_of_this_one_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = lines(tmp_path, monkeypatch, capsys, {}, [4.0, 8.0, 6.0])
    assert [line.partition("skipped")[2] for line in said] == ["; about 8 s left", "; about 6 s left", ""]


def test_the_newest_run_of_a_case_counts_and_a_broken_file_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path))
    entry = {"check": "one_check", "partition": "gpu", "environ": "system"}
    for name, text in (
        ("20260101T000000", json.dumps({"ran_cases": [{**entry, "seconds": 5}]})),
        ("20260102T000000", json.dumps({"ran_cases": [{**entry, "seconds": 7}]})),
        ("20260103T000000", "{half"),
        ("20260104T000000", json.dumps({"ran_cases": [{**entry, "seconds": 0}]})),
    ):
        folder = tmp_path / "reports" / "redwood" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(text)
    assert earlier_seconds("redwood") == {("one_check", "gpu", "system"): 7.0}
    assert earlier_seconds("another") == {}


def test_a_check_of_which_nothing_was_judged_has_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[0]
    for word, said in ((NOT_JUDGED, ""), ("PASS", ": PASS")):
        verdict = judged(case.check, judged_metric(reference=None, verdict=word), verdict=word, system="redwood")
        monkeypatch.setattr(progress, "verdicts", lambda _, found=verdict: [found])
        progress.RunProgress([case], tmp_path, False).reframe_said(
            f"[       OK ] (1/1) {case.check} /0123abcd @redwood:gpu+system"
        )
        assert capsys.readouterr().err == f"nearfar: [1/1] one_check{said}\n"
