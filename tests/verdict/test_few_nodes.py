"""Rows from few nodes: two bounds, read, checked, judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.base.errors import NearfarError
from nearfar.measurement import Metric
from nearfar.verdict import judgement, verdict_file
from nearfar.verdict.references import Reference, ReferenceFile, resolve
from tests.verdict.test_references import CHECK, NODE, metric, reference_file
from tests.verdict.test_verdict import SUBJECT

KEY = f"{CHECK}/H200"


def file(tmp_path: Path, rows: str, own: str = "", about: str = "n: 3") -> ReferenceFile:
    head = f"provenance:\n  tuned:\n    date: 2026-11-20\n    {about.replace(', ', chr(10) + '    ')}\n"
    head += f"    rows:\n{own}" if own else ""
    return reference_file(tmp_path, f"{head}{CHECK}:\n  $index: [$dev.gpu.model]\n  H200:\n{rows}")


def both(tmp_path: Path) -> ReferenceFile:
    own = f"      {KEY}/near.h2d: {{n: 3, degraded: -0.02}}\n"
    own += f"      {KEY}/near_latency_copy.h2d: {{n: 3, degraded: 0.1}}\n"
    rows = "    near.h2d: [50.0, -0.2, null, GB/s]\n    near_latency_copy.h2d: [6.0, null, 0.5, us]\n"
    return file(tmp_path, rows, own)


def latency(value: float) -> Metric:
    made = metric("n0:g0", value)
    return replace(made, name="near_latency_copy.n0_g0", derived="latency_copy", quantity="latency.copy", unit="us")


def word(references: ReferenceFile, one: Metric) -> tuple[str, str | None, Reference]:
    found = resolve([one], CHECK, [references], NODE)
    made = judgement.judge(None, found, subject=SUBJECT, metrics=[one])
    again = verdict_file.from_raw(verdict_file.to_raw(made), Path("verdict.json"))
    assert again == made, "what is written is read as it was"
    reference = found[one.name]
    assert reference is not None
    return made.metrics[0].verdict, made.metrics[0].reason, reference


@pytest.mark.parametrize(
    "value, expected", [(49.5, "PASS"), (49.0, "PASS"), (48.9, "DEGRADED"), (40.1, "DEGRADED"), (39.9, "FAIL")]
)
def test_a_rate_between_its_bounds_is_degraded(tmp_path: Path, value: float, expected: str) -> None:
    said, reason, reference = word(both(tmp_path), metric("n0:g0", value))
    assert (said, reference.lowest, reference.degraded_below) == (expected, 40.0, 49.0)
    if expected != "PASS":
        assert "expected at least 49.0 GB/s (tuned: 50.0 GB/s; tuned 2026-11-20, n = 3" in str(reason)
    assert ("below 40.0 GB/s it is broken" in str(reason)) == (expected == "FAIL")


@pytest.mark.parametrize("value, expected", [(6.5, "PASS"), (6.7, "DEGRADED"), (8.9, "DEGRADED"), (9.1, "FAIL")])
def test_a_time_between_its_bounds_is_degraded(tmp_path: Path, value: float, expected: str) -> None:
    said, reason, reference = word(both(tmp_path), latency(value))
    assert (said, reference.highest, reference.degraded_above) == (expected, 9.0, pytest.approx(6.6))
    if expected != "PASS":
        assert "expected at most 6.60 us (tuned: 6.00 us; tuned 2026-11-20, n = 3" in str(reason)
    assert ("above 9.00 us it is broken" in str(reason)) == (expected == "FAIL")


@pytest.mark.parametrize("about", ["n: 64", "n: 3"])
def test_rows_of_one_bound_keep_their_one_bound(tmp_path: Path, about: str) -> None:
    made = file(tmp_path, "    near.h2d: [50.0, -0.02, null, GB/s]\n", about=about)
    said, _, reference = word(made, metric("n0:g0", 48.9))
    assert (said, reference.lowest, reference.degraded_below) == ("FAIL", 49.0, None)


@pytest.mark.parametrize(
    "degraded, words",
    [
        ("-0.3", "near.h2d: degraded: -0.3 is outside of the row's own bound -0.2, beyond which it is FAIL"),
        (".nan", "near.h2d: degraded: nan is not a finite number"),
        ("0.1", "near.h2d: degraded: 0.1 needs the upper bound that it is inside of, and the row has none"),
        ("few", "is not of type 'number'|expected a number"),
    ],
)
def test_a_degraded_bound_outside_of_the_fail_bound_is_refused(tmp_path: Path, degraded: str, words: str) -> None:
    own = f"      {KEY}/near.h2d: {{n: 3, degraded: {degraded}}}\n"
    with pytest.raises(NearfarError, match=words) as told:
        file(tmp_path, "    near.h2d: [50.0, -0.2, null, GB/s]\n", own)
    assert "refs.yaml:6" in str(told.value)


def test_a_tuned_row_without_a_bound_is_not_judged(tmp_path: Path) -> None:
    made = file(tmp_path, "    near.h2d: [50.0, null, null, GB/s]\n", about="n: 12")
    assert word(made, metric("n0:g0", 33.0))[0] == "not judged"
