"""References that were tuned with other software: they follow their fleet, and judge on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar.history.fleet_levels import FleetLevel
from nearfar.verdict import figure_verdict, verdict_file
from nearfar.verdict.references import Reference, ReferenceFile, of_one_measurement, resolve
from nearfar.verdict.verdict_types import JudgedReference
from tests.support.verdicts import judged, judged_metric
from tests.verdict.test_references import CHECK, NODE, metric, reference_file

OLD = {"driver": "580.1", "cuda": "13.0", "mps": "off"}
NEW = {**OLD, "driver": "590.2"}
ROWS = """\
provenance:
  tuned:
    date: 2026-11-20
    n: 45
    stamp: {driver: "580.1", cuda: "13.0", mps: "off"}
host_device_check:
  $index: [$dev.gpu.model]
  H200:
    near.h2d: [55.5, -0.02, null, GB/s]
    near.both.total: [90.0, -0.05, null, GB/s]
    near_latency_copy.h2d: [6.0, null, 0.1, us]
    near.n0_g3: [50.0, -0.02, null, GB/s]
"""


def level(value: float = 55.5 * 0.985, software: Mapping[str, str] = NEW, **more: Any) -> FleetLevel:
    whole: dict[str, Any] = {
        "partition": "gpu", "check": CHECK, "row": "near.h2d", "gpu_model": "H200", "unit": "GB/s",
        "low": value * 0.999, "high": value * 1.001, "nodes": 45, "first_seen": "2026-12-01",
    }  # fmt: skip
    return FleetLevel(value=value, software=software, **{**whole, **more})


@pytest.fixture
def file(tmp_path: Path) -> ReferenceFile:
    return reference_file(tmp_path, ROWS)


def of(file: ReferenceFile, stamp: Mapping[str, str], *levels: FleetLevel, cell: str = "n0:g0") -> Reference:
    measured = metric(cell, 55.5, total=cell.count(":") > 1)
    found = resolve([measured], CHECK, [file], NODE, stamp=stamp, levels=levels)[measured.name]
    assert found is not None
    return found


def word(reference: Reference, value: float, cell: str = "n0:g0") -> tuple[str, str]:
    measured = metric(cell, value, total=cell.count(":") > 1)
    finding = figure_verdict.of_figure(measured, reference, None, False, NODE)
    return finding.verdict, finding.reason


def test_a_driver_that_costs_what_the_fleet_lost_fails_nothing(file: ReferenceFile) -> None:
    """A node 1.9 % below the fleet's new level passes; by the old row it would be FAIL."""
    value = 55.5 * 0.985 * 0.981
    fresh, moved = of(file, OLD), of(file, NEW, level())
    assert word(fresh, value)[0] == "FAIL"
    assert word(moved, value) == ("PASS", "")
    assert (moved.value, moved.lowest) == pytest.approx((55.5 * 0.985, 55.5 * 0.985 * 0.98))


def test_below_its_fleet_fails_and_says_what_the_fleet_has(file: ReferenceFile) -> None:
    verdict, reason = word(of(file, NEW, level()), 52.0)
    assert verdict == "FAIL"
    assert reason == (
        "GPU 0, host to device from NUMA node 0: 52.0 GB/s, expected at least 53.6 GB/s (tuned, stale: 54.7 GB/s; tuned 2026-11-20, "
        "n = 45, with driver 580.1; its fleet is at −1.5 % with driver 590.2 (45 nodes))"
    )


def test_both_bounds_of_a_row_move(tmp_path: Path) -> None:
    two = "near.h2d: [55.5, -0.04, 0.04, GB/s]"
    degraded = "    rows:\n      host_device_check/H200/near.h2d: {n: 3, degraded: -0.02}\n"
    text = ROWS.replace("near.h2d: [55.5, -0.02, null, GB/s]", two)
    found = of(
        reference_file(tmp_path, text.replace("host_device_check:\n", f"{degraded}host_device_check:\n", 1)),
        NEW,
        level(),
    )
    assert (found.lowest, found.highest) == pytest.approx((55.5 * 0.985 * 0.96, 55.5 * 0.985 * 1.04))
    assert found.degraded_below == pytest.approx(55.5 * 0.985 * 0.98)
    assert word(found, 55.5 * 0.985 * 0.975)[0] == "DEGRADED"


def test_the_first_night_has_an_allowance(file: ReferenceFile) -> None:
    lone, both = of(file, NEW), of(file, NEW, cell="n0:g0+g0:n0")
    assert (lone.value, lone.lowest) == (55.5, pytest.approx(55.5 * 0.98 * 0.97))
    assert both.lowest == pytest.approx(90.0 * 0.95 * 0.95)
    assert word(lone, 55.5 * 0.985 * 0.981)[0] == "PASS"
    verdict, reason = word(lone, 55.5 * (1 - 1 / 18))
    assert verdict == "FAIL", "a lane of 18 is more than a driver's"
    assert (
        "what driver 590.2 does to the fleet is not known, or more than a driver does (nearfar history --shifts): bounds are 3 % wider"
        in reason
    )
    assert lone.highest is None, "what is better with a new driver is no fault"


def test_of_a_time_more_is_worse(file: ReferenceFile) -> None:
    latency = replace(
        metric("n0:g0", 6.0, "near_latency_copy"), unit="us", quantity="latency.copy", name="near_latency_copy.n0_g0"
    )
    slower = level(6.3, row="near_latency_copy.h2d", unit="us")
    for levels, most in (((), 6.6 * 1.05), ((slower,), 6.6 * 1.05)):
        (found,) = resolve([latency], CHECK, [file], NODE, stamp=NEW, levels=levels).values()
        assert found is not None and found.lowest is None and found.highest == pytest.approx(most)
        slow = replace(latency, value=7.1, interval=(7.1, 7.1))
        assert figure_verdict.of_figure(slow, found, None, False, NODE).verdict == "FAIL"


@pytest.mark.parametrize(
    "change, said",
    [({"cuda": "13.1"}, "with CUDA 13.0; what CUDA 13.1 does"), ({"mps": "on"}, "with MPS off; what MPS on does")],
)
def test_other_software_than_the_driver(file: ReferenceFile, change: dict[str, str], said: str) -> None:
    stamp = {**OLD, **change}
    assert said in of(file, stamp).note
    assert of(file, stamp, level()).stale_bounds == "widened", "the level with the driver says nothing of it"
    assert of(file, stamp, level(software=stamp)).stale_bounds == "moved"


def test_a_driver_that_was_taken_back_makes_rows_fresh_again(file: ReferenceFile) -> None:
    back = of(file, OLD, level(), level(55.4, OLD))
    assert (back.stale, back.stale_bounds, back.value) == (False, None, 55.5)
    assert word(back, 52.0)[0] == "FAIL"


def test_of_several_levels_most_nodes_count(file: ReferenceFile) -> None:
    other = level(50.5, {**NEW, "mpi": "5.0"}, nodes=3)
    assert of(file, NEW, other, level()).value == pytest.approx(55.5 * 0.985)


@pytest.mark.parametrize("part", [0.5, 0.89, 1.2, 1e-18, 1e300])
def test_a_sick_fleet_moves_no_reference(file: ReferenceFile, part: float) -> None:
    """Nobody takes a loss of 11 % for a driver's."""
    found = of(file, NEW, level(55.5 * part))
    assert found.stale_bounds == "widened" and word(found, 55.5 * 0.89)[0] == "FAIL"


def test_a_level_without_a_driver_is_of_no_driver(file: ReferenceFile) -> None:
    unknown = level(50.5, {"cuda": "13.0", "mps": "off"}, nodes=99)
    assert of(file, NEW, unknown).stale_bounds == "widened"
    assert of(file, NEW, unknown, level()).value == pytest.approx(55.5 * 0.985)


def test_a_driver_that_is_not_known_is_as_a_missing_one(file: ReferenceFile) -> None:
    assert not of(file, {**OLD, "driver": None}).stale  # type: ignore[dict-item]


@pytest.mark.parametrize("missing", ["in the file", "in the document"])
def test_a_stamp_that_is_missing_makes_nothing_stale(tmp_path: Path, missing: str) -> None:
    text = (
        ROWS.replace('    stamp: {driver: "580.1", cuda: "13.0", mps: "off"}\n', "")
        if missing == "in the file"
        else ROWS
    )
    found = of(reference_file(tmp_path, text), NEW if missing == "in the file" else {})
    assert not found.stale and word(found, 52.0)[0] == "FAIL"


def test_rows_of_two_stamps(tmp_path: Path) -> None:
    rows = '    rows:\n      host_device_check/H200/near.n0_g3: {stamp: {driver: "590.2", cuda: "13.0"}, n: 9}\n'
    file = reference_file(tmp_path, ROWS.replace("host_device_check:\n", f"{rows}host_device_check:\n", 1))
    assert of(file, NEW, level()).stale and not of(file, NEW, level(), cell="n0:g3").stale
    own = of(file, OLD, level(54.0, OLD), cell="n0:g3")
    assert (own.stale, own.stale_bounds) == (True, "widened"), "the class's level is not that of one path"
    assert not of(file, OLD).stale


@pytest.mark.parametrize("other", [{"gpu_model": "H100"}, {"row": "near.d2h"}, {"check": "peer_check"}, {"unit": "us"}])
def test_of_another_model_or_row_nothing_is_taken(file: ReferenceFile, other: dict[str, str]) -> None:
    assert of(file, NEW, level(**other)).stale_bounds == "widened"


def test_published_values_are_never_stale(tmp_path: Path) -> None:
    from tests.verdict.test_references import PUBLISHED

    assert not of(reference_file(tmp_path, PUBLISHED), NEW, level()).stale


def test_verdict_json_says_how_a_stale_row_judged_and_nothing_else_changes(tmp_path: Path) -> None:
    for how in (None, "moved", "widened", "as tuned"):
        reference = JudgedReference(55.0, None, None, "GB/s", "tuned", "n", how is not None, None, how)
        raw = verdict_file.to_raw(judged("host_device_check", judged_metric(reference=reference)))
        assert ("stale_bounds" in raw["metrics"][0]["reference"]) == (how is not None)
        back = verdict_file.from_raw(raw, tmp_path / "verdict.json").metrics[0].reference
        assert back is not None and back.stale_bounds == how


@pytest.mark.parametrize(
    "bounds, wider",
    [
        ((-0.067, None, 96.65, None), (-0.1, None, 95.0, None)),
        ((None, 0.134, None, 106.7), (None, 0.2, None, 110.0)),
        ((-0.4, None, None, None), (-0.5, None, None, None)),
        ((None, None, None, None), (None, None, None, None)),
    ],
)
def test_limits_of_one_measurement_lie_farther_out(bounds: tuple[Any, ...], wider: tuple[Any, ...]) -> None:
    lower, upper, below, above = bounds
    tuned = Reference(100.0, lower, upper, "GB/s", "tuned", "n = 3", below, degraded_above=above)
    found = of_one_measurement({"a": tuned, "b": replace(tuned, origin="model"), "c": None})
    one = found["a"]
    assert one is not None and (found["b"], found["c"]) == (replace(tuned, origin="model"), None)
    assert (one.lower, one.upper, one.degraded_below, one.degraded_above) == pytest.approx(wider)
