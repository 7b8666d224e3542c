"""Figures that do not hang together: never green, whatever their value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.measurement import AnyMetric, consistency
from nearfar.verdict.references import Reference
from tests.support.verdicts import subject_metric
from tests.verdict.test_references import metric
from tests.verdict.test_verdict import SUBJECT, judge

GOOD = metric("n0:g0", 55.0, interval=(54.9, 55.1), least=54.5, most=55.3)
STREAM = metric("c0:n0/triad", 200.0, "local")
MPI = subject_metric("a.latency", "osu_latency/H-H/sole", "sole", 0.5, "us", "mpi.latency")
SAXPY = subject_metric("saxpy.gpu.least.h2d", "saxpy/gpu", "gpu", 50.0, "GB/s", "saxpy.h2d", verified=True)
PENALTY = subject_metric("p", "within.per_task.4.stream_1MiB", "within", -0.1, "1", "ratio", verified=True)


@pytest.mark.parametrize(
    "bad, words",
    [
        (replace(GOOD, converged=False, interval=None, least=None, most=None), "no interval shows"),
        (replace(GOOD, interval=(55.1, 54.9)), "its interval, 55.1 to 54.9, is not valid"),
        (replace(GOOD, interval=(float("-inf"), 56.0)), "is not valid"),
        (replace(GOOD, interval=(52.0, 53.0)), "it lies outside its own interval, 52 to 53"),
        (replace(GOOD, least=10.0, most=20.0), "it lies outside its own samples, 10 to 20"),
        (replace(GOOD, least=60.0, most=50.0), "it lies outside its own samples"),
        (replace(GOOD, unit="MB/s"), "it is in MB/s, where GB/s were asked for"),
        (replace(STREAM, unit="us"), "it is in us, where GB/s were asked for"),
        (replace(GOOD, verified=None), "was not checked"),
        (replace(STREAM, verified=None), "was not checked"),
        (replace(SAXPY, verified=None), "was not checked"),
        (replace(PENALTY, verified=None), "was not checked"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("bounds", [None, (-0.5, 0.5)])
def test_a_figure_that_does_not_hang_together_is_none(bad: AnyMetric, words: str, bounds: Any) -> None:
    reference = None if bounds is None else Reference(bad.value, *bounds, bad.unit, "tuned", "tuned")
    found = judge(None, {bad.name: reference}, subject=SUBJECT, metrics=[bad])
    assert found["verdict"] == "INDETERMINATE" and words in found["reasons"][0], found["reasons"]


@pytest.mark.parametrize("good", [
    GOOD, STREAM, SAXPY, PENALTY, MPI,
    replace(MPI, converged=False, least=0.4, most=0.6),  # three runs of OSU
    replace(GOOD, converged=False),
    replace(GOOD, interval=(55.0000004, 55.1)),  # as a document rounds it
    metric("n0:g1", 0.9, "off_socket_over_near", verified=None, interval=None, converged=False),  # made of others, which are judged
])  # fmt: skip
def test_what_programs_print_hangs_together(good: AnyMetric) -> None:
    assert consistency.fault(good) is None


def test_runs_too_few_for_an_interval_hold_a_bound_between_them() -> None:
    reference = Reference(0.5, None, 0.1, "us", "tuned", "tuned")
    for most, word in ((0.7, "INDETERMINATE"), (0.54, "PASS")):
        measured = replace(MPI, converged=False, least=0.45, most=most)
        found = judge(None, {MPI.name: reference}, subject=SUBJECT, metrics=[measured])
        assert found["verdict"] == word, most
    slow = replace(MPI, value=0.8, converged=False, least=0.7, most=0.9)
    assert judge(None, {MPI.name: reference}, subject=SUBJECT, metrics=[slow])["verdict"] == "FAIL"


@given(st.lists(st.floats(0.1, 1e4), min_size=1, max_size=9), st.floats(0.1, 1e4))
def test_a_value_is_between_its_samples_or_it_is_none(samples: list[float], value: float) -> None:
    measured = metric("n0:g0", value, least=min(samples), most=max(samples))
    inside = min(samples) <= value <= max(samples)
    rounding = 1e-5 * max(samples)
    slightly = min(samples) - rounding <= value <= max(samples) + rounding
    assert inside <= (consistency.fault(measured) is None) <= slightly
