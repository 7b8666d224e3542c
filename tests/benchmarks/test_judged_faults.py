"""Faults of simulated nodes through the tune and the judge: a few draws of what ``benchmarks/judged_faults.py`` counts."""

from __future__ import annotations

import random
from functools import cache

import pytest

from benchmarks import judged_faults
from benchmarks.simulated_nights import CHECKS, FAULTS, Night, judged_rates, levels
from nearfar import measurement
from nearfar.verdict.references import ReferenceFile

NIGHTS = 5
ALWAYS = ("NVLink lane", "half of PCIe", "memory channel")


@cache
def references(n: int, host: str) -> ReferenceFile:
    return judged_faults.tuned(n, host, random.Random(n))


def words(n: int, host: str, fault: str) -> list[str]:
    source = random.Random(f"{n} {host} {fault}")
    nights = (Night(levels(source), host, source, FAULTS[fault]) for _ in range(NIGHTS))
    return [judged_faults.word(night, references(n, host)) for night in nights]


@pytest.mark.parametrize("host", judged_faults.HOSTS)
@pytest.mark.parametrize("fault", ALWAYS)
def test_by_references_from_many_nodes_what_is_always_there_is_a_fail(fault: str, host: str) -> None:
    assert words(100, host, fault) == ["FAIL"] * NIGHTS


def test_by_references_from_ten_nodes_too() -> None:
    for fault in ALWAYS:
        assert words(10, "own", fault) == ["FAIL"] * NIGHTS


def test_by_references_from_three_nodes_half_of_a_link_is() -> None:
    assert words(3, "own", "half of PCIe") == ["FAIL"] * NIGHTS


def test_a_copy_engine_that_is_a_little_slow_does_not_fail() -> None:
    """Its node's history finds it within five nights; references begin at 3.5 %."""
    assert "FAIL" not in words(100, "own", "copy engine -3 %")


@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("host", judged_faults.HOSTS)
def test_healthy_nodes_do_not_fail(n: int, host: str) -> None:
    assert "FAIL" not in words(n, host, "healthy")


def test_what_comes_and_goes_is_mostly_found() -> None:
    found = words(10, "own", "-5.6 % in half of the visits")
    assert found.count("PASS") < NIGHTS / 2


def test_the_documents_are_documents() -> None:
    source = random.Random(1)
    night = Night(levels(source), "own", source)
    for check in CHECKS:
        made = night.document(check)
        read = measurement.from_raw(made.raw, made.source)
        assert judged_rates(check, read) == judged_rates(check, made)
