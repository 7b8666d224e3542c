"""How often OSU repeats, how many runs there are, and what is said of busy cores; with stand-ins for mpirun and OSU."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar import measurement
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.mpi import rank
from nearfar.mpi.osu import disturbances, measuring
from nearfar.mpi.osu.benchmarks import BENCHMARKS
from nearfar.mpi.osu.installed import OsuSupport
from nearfar.mpi.osu.measuring import MeasuredCase
from nearfar.mpi.osu.subjects import parse
from nearfar.mpi.osu.table import OsuTable, sizes
from tests.mpi.test_osu_measure import LATENCY, run

__all__ = ["run"]  # the fixture


def flat(name: str, figure: float) -> OsuTable:
    """A trial in which every size has the same figure, in OSU's unit."""
    benchmark = BENCHMARKS[name]
    columns = tuple(heads[0] for heads, *_ in benchmark.columns)
    rows = {size: dict.fromkeys(columns, figure) for size in sizes(benchmark.least, 1 << 22)}
    return OsuTable(benchmark.title, "7.4", None, None, None, columns, rows, True, ())


def test_on_quiet_cores_osu_repeats_as_it_likes() -> None:
    assert measuring.fitting(BENCHMARKS["osu_latency"], flat("osu_latency", 1.0), 10.0) is None


def test_on_a_shared_core_a_run_takes_its_budget() -> None:
    """4 ms one way, as where two ranks share a core: OSU's own 10,000 repetitions of 14 sizes would take twenty minutes."""
    benchmark, trial = BENCHMARKS["osu_latency"], flat("osu_latency", 4000.0)
    assert measuring.seconds(benchmark, trial) > 1200
    repeats = measuring.fitting(benchmark, trial, 10.0)
    assert repeats is not None and measuring.FEWEST < repeats < 60
    assert measuring.seconds(benchmark, trial, repeats) == pytest.approx(10.0, rel=0.05)


@given(st.sampled_from(sorted(BENCHMARKS)), st.floats(0.01, 1e7), st.floats(0.1, 1000.0))
def test_what_is_cut_fits_unless_it_is_the_least(name: str, figure: float, seconds: float) -> None:
    benchmark, trial = BENCHMARKS[name], flat(name, figure)
    repeats = measuring.fitting(benchmark, trial, seconds)
    if repeats is None:
        assert measuring.seconds(benchmark, trial) <= seconds
    elif repeats > measuring.FEWEST:
        assert measuring.seconds(benchmark, trial, repeats) <= seconds * 1.001


def test_two_runs_that_agree_are_enough_and_six_are_run(run: Any) -> None:
    def count(runs: int) -> int:
        (first, *_) = run("good", LATENCY, runs=runs).raw["results"]
        return int(first["flows"][0]["rate"]["n"])

    assert (count(1), count(3), count(6)) == (1, 2, 6)


@pytest.mark.parametrize("figures, agreed", [((1.0,), False), ((1.0, 1.01), True), ((1.0, 1.06), False)])
def test_when_runs_agree(figures: tuple[float, ...], agreed: bool) -> None:
    tables = [flat("osu_latency", figure) for figure in figures]
    found = MeasuredCase(parse(LATENCY), Path("osu_latency"), OsuSupport(frozenset(), True), [], tables)
    assert found.agreed == agreed


def test_iterations_are_told_where_they_were_cut(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run("good", LATENCY, budget=0.001)
    assert found.raw["mpi"]["iterations"][LATENCY] == measuring.FEWEST
    (note,) = disturbances.findings(found)
    assert (note.verdict, note.subject) == (NOT_JUDGED, "repetitions") and note.fields["fewest"] == 20
    longer = run("good", LATENCY)
    assert longer.raw["mpi"]["iterations"][LATENCY] > disturbances.ENOUGH and disturbances.findings(longer) == []
    assert run("good", LATENCY, budget=10.0).raw["mpi"]["iterations"] == {}
    assert run("good", LATENCY, budget=0.001, iterations=7).raw["mpi"]["iterations"] == {}


def test_busy_cores_are_indeterminate(run: Any) -> None:
    raw = json.loads(measurement.dump(run("good", LATENCY)))
    raw["mpi"]["waited"] = {LATENCY: 0.1}
    assert disturbances.findings(measurement.loads(json.dumps(raw))) == []
    raw["mpi"]["waited"] = {LATENCY: 0.48}
    (busy,) = disturbances.findings(measurement.loads(json.dumps(raw)))
    assert (busy.verdict, busy.fields["waited"]) == ("INDETERMINATE", 0.48)
    assert disturbances.findings(None) == []


def test_a_process_that_waited_for_its_core() -> None:
    """The kernel's own word, of a process and of one that is not there."""
    waited = rank.waited_for_core(os.getpid())
    assert waited is None or 0 <= waited < 1
    assert rank.waited_for_core(0) is None
