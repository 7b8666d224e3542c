"""The study of estimators: what its figures promise, what its simulated machines are, which files it reads."""

from __future__ import annotations

import json
import random
from statistics import fmean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import estimators as est
from benchmarks.estimator_study import main
from benchmarks.noisy_machines import from_trace, simulated, two_levels
from benchmarks.visit_traces import Unreadable, read
from tests.support.emulated import emulated_programs

VISIT = st.lists(st.floats(30, 60), min_size=6, max_size=6)
RUN = st.lists(VISIT, min_size=2, max_size=8)


def document(seconds, *visits, unit="GB/s", flows=1, bytes=1 << 28):
    rate = {"unit": unit, "samples": [sample for samples in visits for sample in samples]}
    cell = "+".join(f"n0:g{i}" for i in range(flows))
    result = {"quantity": "copy", "cell": cell, "bytes": bytes, "flows": [{"rate": rate}] * flows, "total": rate}
    result["visits"] = [{"at": float(at), "seconds": 0.06, "n": len(samples)} for at, samples in enumerate(visits)]
    return {"schema": "nearfar-measurement/2", "started": f"2026-11-22T03:00:{seconds:02}Z", "results": [result]}


def edited(document, **visit):
    document["results"][0]["visits"][0] |= visit
    return document


@pytest.fixture
def written(tmp_path):
    def write(*contents):
        paths = [tmp_path / f"{i}.json" for i in range(len(contents))]
        for path, content in zip(paths, contents):
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return paths

    return write


@given(RUN)
def test_every_figure_lies_among_the_samples_and_every_interval_in_order(run):
    low, high = min(map(min, run)), max(map(max, run))
    assert all(low * (1 - 1e-9) <= figure(run) <= high * (1 + 1e-9) for figure in est.FIGURES.values())
    assert 0 < est.steadiness(run) <= 1
    for figure, (lower, upper) in (
        (est.plateau(run), est.plateau_interval(run)),
        (est.pooled_median(run), est.median_interval(run)),
    ):
        assert lower - 1e-9 <= figure * (1 - est.FLOOR) < figure * (1 + est.FLOOR) <= upper + 1e-9


def test_an_example_by_hand():
    run = [[1.0, 2, 3, 4], [2.0, 3, 4, 5], [3.0, 4, 5, 6]]
    assert (est.plateau(run), est.pooled_median(run)) == pytest.approx((5, 3.5))
    assert [est.reached_by(visit) for visit in run] == pytest.approx([3, 4, 5])
    # without the first, second and third visit the plateau is 5, 5 and 4: 1, 1 and -2 thirds from their mean
    half = 4.30 * (2 / 3 * (1 + 1 + 4) / 9) ** 0.5
    assert est.plateau_interval(run) == pytest.approx((5 - half, 5 + half))
    assert est.median_interval(run) == pytest.approx((3.5 - 4.30 / 3**0.5, 3.5 + 4.30 / 3**0.5))


@given(RUN, st.randoms(use_true_random=False), st.floats(0.1, 100))
def test_the_order_of_visits_and_samples_does_not_matter_and_the_unit_neither(run, source, unit):
    other = [source.sample(visit, len(visit)) for visit in source.sample(run, len(run))]
    scaled = [[sample * unit for sample in visit] for visit in other]
    assert est.plateau(scaled) == pytest.approx(est.plateau(run) * unit)
    assert est.plateau_interval(scaled) == pytest.approx([end * unit for end in est.plateau_interval(run)])


@given(st.lists(VISIT, min_size=3, max_size=8), st.data())
def test_one_wild_sample_is_never_the_plateau_nor_what_a_visit_reached(run, data):
    sane = est.pooled(run)[-1]
    data.draw(st.sampled_from(run))[data.draw(st.integers(0, 5))] = 1000.0
    assert est.plateau(run) <= sane
    assert max(map(est.reached_by, run)) <= sane


@pytest.mark.parametrize(
    ("reached", "needed"),
    [
        ([55, 55, 55, 55], (3, True)),  # three that agree
        ([51, 51, 55, 55, 55], (5, True)),  # the lower level was left in time
        ([51, 51, 51, 55], (3, True)),  # …and here it was not: nothing tells
        ([50, 51, 52, 53, 54, 55, 56, 57], (8, False)),
        ([55, 55], (2, False)),
    ],
)
def test_visits_end_when_three_have_reached_the_best(reached, needed):
    run = [[level] * 6 for level in reached]
    assert est.visits_needed(run, est.TOLERANCE, est.CONFIRMED, est.CONFIRMED) == needed


def test_a_quiet_machine_needs_three_visits_and_its_interval_holds_what_another_run_says():
    quiet, source = simulated()[0], random.Random(1)
    runs = [quiet.draw(source, 8, 7.0, 6) for _ in range(50)]
    assert {est.visits_needed(run, est.TOLERANCE, 3, 3) for run in runs} == {(3, True)}
    figures = [est.plateau(run[:3]) for run in runs]
    held = [
        low <= other <= high for (low, high), other in zip((est.plateau_interval(r[:3]) for r in runs), figures[1:])
    ]
    assert all(held)
    assert fmean(figures) == pytest.approx(quiet.level, rel=0.002)


def test_two_levels_last_as_long_as_they_say():
    draw, source = two_levels(3, 1).draw, random.Random(1)
    near, far = ([draw(source, 2, span, 6) for _ in range(500)] for span in (0.2, 60.0))

    def changed(runs):
        return sum((median(a) > 53) != (median(b) > 53) for a, b in runs) / len(runs)

    assert sum(median(a) > 53 for a, _ in far) / len(far) == pytest.approx(0.75, abs=0.07)
    assert changed(near) == pytest.approx(0.375 * (1 - 2.718281828 ** (-0.2 * 4 / 3)), abs=0.05)
    assert changed(far) == pytest.approx(0.375, abs=0.07)


def test_documents_are_runs_in_order_of_time_and_sums_are_of_competing_flows(written):
    later, earlier = document(9, [55.0] * 6, [54.0] * 5), document(2, [53.0] * 6, bytes=1 << 27)
    [trace] = read(written(later, earlier))
    assert trace.name == "copy n0:g0"
    assert trace.runs[1] == ((trace.runs[1][0][0], [55.0] * 6), (trace.runs[1][0][0] + 1, [54.0] * 5))
    assert [[samples[0] for _, samples in run] for run in trace.runs] == [[53.0], [55.0, 54.0]]
    assert from_trace(trace) is None
    both = document(1, [50.0] * 6, flows=2)
    both["results"][0]["total"] = {"unit": "GB/s", "samples": [99.0] * 6}
    [trace] = read(written(both))
    assert trace.everything() == [99.0] * 6


def test_sizes_of_a_cell_are_rates_of_their_own(written):
    large, small = document(1, [55.0] * 6), document(1, [5.0] * 6, bytes=1024)
    large["results"] += small["results"]
    assert [trace.name for trace in read(written(large))] == [f"copy n0:g0 {1 << 28}", "copy n0:g0 1024"]


@pytest.fixture
def emulated(build_folder, tmp_path):
    return emulated_programs(build_folder, tmp_path)


def test_what_a_program_writes_is_read_and_its_figures_are_those_of_the_study(emulated, written):
    said = emulated.run("--json", "n0:g0", "n0:g0+g0:n0").document()
    traces = read(written(said))
    assert [trace.name for trace in traces] == ["copy n0:g0", "copy n0:g0+g0:n0"]
    for trace, result in zip(traces, said["results"]):
        [run] = trace.runs
        visits = [samples for _, samples in run]
        told = result["total"]
        assert len(visits) == len(result["visits"]) >= 3
        assert [est.plateau(visits), est.pooled_median(visits)] == pytest.approx(
            [told["plateau"], told["median"]], rel=1e-5
        )
        low, high = est.plateau_interval(visits)
        assert told["interval"] == pytest.approx([low, high], rel=1e-3)
        assert list(est.median_interval(visits)) == pytest.approx(told["ci"], rel=1e-3)


def test_lists_of_visits_are_traces_of_rates_and_not_of_latencies(written, capsys):
    def visits(rate):
        cells = {"n0:g0": {"samples": [rate] * 6}, "n0:g0 latency.copy": {"unit": "us", "samples": [6.0] * 6}}
        return [{"started": f"2026-11-22T03:00:{i:02}Z", "cells": cells} for i in range(30)]

    [path] = written({"note": "one node", "idle": visits(55.0), "beside_a_load": visits(40.0)[:5]})
    assert [(t.name, len(t.visits)) for t in read([path])] == [("0 n0:g0", 30), ("0 beside_a_load n0:g0", 5)]
    assert [from_trace(t) is not None for t in read([path])] == [True, False]
    assert main(["--table", "together", str(path)]) == 0
    assert "| 0 beside_a_load n0:g0 | 5 | 40.00 | 39.92 to 40.08 | 40.00 | 1.000 |" in capsys.readouterr().out


def test_a_series_of_copies_becomes_samples_of_ten_milliseconds(written):
    copies = {"ms": list(range(0, 20000, 5)), "GBps": [50.0, 60.0] * 2000}
    one, two = read(written({"series": {"h2d": {"h2d": copies}, "both": {"h2d": copies, "d2h": copies}}}))
    assert set(one.samples) == {2 / (1 / 50 + 1 / 60)}
    assert len(two.samples) > 1800 and all(100 <= sample <= 120 for sample in two.samples)
    machine = from_trace(one)
    assert [len(visit) for visit in machine.draw(random.Random(1), 5, 8.0, 6)] == [6] * 5


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "Expecting"),
        ("[]", "no object"),
        ({}, "neither a measurement document nor a trace"),
        (document(1, [55.0] * 6, unit="us"), "no rate has visits"),
        ({"schema": "nearfar-measurement/2", "started": "2026-11-22T03:00:00Z", "results": []}, "no rate has visits"),
        (document(1, [55.0, -1.0, 55.0]), "/results/0/visits/0/samples is no list of positive numbers"),
        (edited(document(1, [55.0] * 6), n=7), "/results/0: 6 samples, but its visits have 7"),
        (edited(document(1, [55.0] * 6), n="6"), "/results/0/visits/0/n is no number of samples"),
        (document(1, [55.0] * 6) | {"started": "yesterday"}, "/started is no time: 'yesterday'"),
        ({"series": {"h2d": {}}}, "/series/h2d has no flow"),
        ({"series": {"h2d": {"h2d": {"ms": [1, 2]}}}}, "/series/h2d/h2d: `ms` and `GBps`"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(written, capsys, content, said):
    paths = written(content)
    with pytest.raises(Unreadable, match=str(paths[0])):
        read(paths)
    assert main([str(paths[0])]) == 2
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_the_tables_are_the_same_for_the_same_seed_and_have_a_row_for_each_rate(written, capsys):
    paths = list(map(str, written(document(1, [55.0] * 6, [54.0] * 6), document(2, [55.0] * 6, [55.0] * 6))))
    wanted = ["--groups", "1", "--table", "gaps", "--table", "documents", *paths]
    tables = []
    for _ in range(2):
        assert main(wanted) == 0
        tables.append(capsys.readouterr().out.splitlines()[:-1])
    assert tables[0] == tables[1]
    assert sum(line.startswith("| quiet") for line in tables[0]) == 1
    assert (
        "| copy n0:g0 | 2 | 2.0 | 0.00 | 0.91 | 0.00 | 0.00 | 0.00 | 0.00 | 55.00 | 0.991 to 1.000 | 100 |" in tables[0]
    )
