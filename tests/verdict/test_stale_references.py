"""Rows that were tuned with other software: they follow their fleet, never FAIL by speed, and their time ends."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from nearfar.history.fleet_shift import FleetShift
from nearfar.verdict import figure_verdict, verdict_file
from nearfar.verdict.references import Reference, ReferenceFile, Upgrade, resolve
from nearfar.verdict.verdict_types import JudgedReference
from tests.support.verdicts import judged, judged_metric
from tests.verdict.test_references import CEILING_H2D, CHECK, NODE, metric, reference_file

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
FIRST = date(2026, 12, 1)


def shift(
    before: Mapping[str, str] = OLD, after: Mapping[str, str] = NEW, part: float = -0.015, **more: Any
) -> FleetShift:
    low, high = more.pop("interval", (part - 0.001, part + 0.001))
    whole: dict[str, Any] = {
        "check": CHECK, "row": "near.h2d", "gpu_model": "H200", "nodes": 45, "seen": 43, "first_seen": FIRST.isoformat(),
    }  # fmt: skip
    return FleetShift(before=before, after=after, part=part, low=low, high=high, **{**whole, **more})


@pytest.fixture
def file(tmp_path: Path) -> ReferenceFile:
    return reference_file(tmp_path, ROWS)


def of(
    file: ReferenceFile, stamp: Mapping[str, str], *shifts: FleetShift, cell: str = "n0:g0", **more: Any
) -> Reference:
    upgrade = Upgrade(shifts, **{"today": FIRST, **more})
    both = cell.count(":") > 1
    measured = metric(cell, 55.5, total=both)
    found = resolve([measured], CHECK, [file], NODE, stamp=stamp, upgrade=upgrade)[measured.name]
    assert found is not None
    return found


def word(reference: Reference, value: float, cell: str = "n0:g0") -> tuple[str, str]:
    measured = metric(cell, value, total=cell.count(":") > 1)
    finding = figure_verdict.of_figure(measured, reference, {}, False, NODE)
    return finding.verdict, finding.reason


def test_a_driver_that_costs_what_the_fleet_lost_makes_nothing_degraded(file: ReferenceFile) -> None:
    """A node at the fleet's new level less a slack of 1.9 % passes; alone against the old row it would be FAIL."""
    value = 55.5 * 0.985 * 0.981
    fresh, moved = of(file, OLD), of(file, NEW, shift())
    assert word(fresh, value)[0] == "FAIL"
    assert word(moved, value) == ("PASS", "")
    assert moved.value == pytest.approx(55.5 * 0.985)
    assert moved.degraded_below == pytest.approx(55.5 * 0.98 * (1 - 0.016)), "the interval widens the slack"


def test_below_its_fleet_is_degraded_and_says_what_the_fleet_did(file: ReferenceFile) -> None:
    verdict, reason = word(of(file, NEW, shift()), 52.0)
    assert verdict == "DEGRADED"
    assert reason == (
        "GPU 0, host to device from NUMA node 0: 52.0 GB/s, expected at least 53.5 GB/s, else it is below its fleet (tuned, stale: "
        "54.7 GB/s; tuned 2026-11-20, n = 45, with driver 580.1; the fleet moved −1.5 % with driver 590.2 (43 of 45 nodes); "
        "stale until 2026-12-31)"
    )


@pytest.mark.parametrize("shifts", [(), (shift(),)])
@pytest.mark.parametrize("cell, least", [("n0:g0", CEILING_H2D / 2), ("n0:g0+g0:n0", None)])
def test_speed_never_fails_but_for_a_broken_link(
    file: ReferenceFile, shifts: tuple[FleetShift, ...], cell: str, least: float | None
) -> None:
    """Half of a lone link's ceiling is evidence whatever the software; nothing else is."""
    reference = of(file, NEW, *shifts, cell=cell)
    words = [word(reference, value, cell)[0] for value in (50.0, 30.0, 29.0, 5.0)]
    assert words == (["DEGRADED"] * 4 if least is None else ["DEGRADED", "DEGRADED", "FAIL", "FAIL"])
    assert reference.highest is None


def test_the_first_night_has_an_allowance(file: ReferenceFile) -> None:
    lone, both = of(file, NEW), of(file, NEW, cell="n0:g0+g0:n0")
    assert (lone.value, lone.degraded_below) == (55.5, pytest.approx(55.5 * 0.98 * 0.97))
    assert both.degraded_below == pytest.approx(90.0 * 0.95 * 0.95)
    assert word(lone, 55.5 * 0.985 * 0.981)[0] == "PASS"
    verdict, reason = word(lone, 55.5 * (1 - 1 / 18))
    assert verdict == "DEGRADED", "a lane of 18 is more than a driver's"
    assert "what driver 590.2 does to the fleet is not known (nearfar history --shifts), bounds are 3 % wider" in reason


def test_of_a_time_more_is_worse(file: ReferenceFile) -> None:
    from dataclasses import replace

    latency = replace(
        metric("n0:g0", 6.0, "near_latency_copy"), unit="us", quantity="latency.copy", name="near_latency_copy.n0_g0"
    )
    slower = shift(row="near_latency_copy.h2d", part=0.05, unit="us")
    for shifts, most in (((), 6.6 * 1.05), ((slower,), 6.6 * 1.051)):
        (found,) = resolve([latency], CHECK, [file], NODE, stamp=NEW, upgrade=Upgrade(shifts)).values()
        assert found is not None and (found.highest, found.degraded_below) == (None, None)
        assert found.degraded_above == pytest.approx(most)
        slow = replace(latency, value=7.1, interval=(7.1, 7.1))
        assert figure_verdict.of_figure(slow, found, {}, False, NODE).verdict == "DEGRADED"


@pytest.mark.parametrize(
    "how", [{"shifts": (shift(),)}, {"shifts": (), "own_first_seen": FIRST}, {"shifts": (shift(row="near.d2h"),)}]
)
def test_it_expires_by_a_date(file: ReferenceFile, how: dict[str, Any]) -> None:
    shifts, own = how["shifts"], how.get("own_first_seen")
    last, after = FIRST + timedelta(29), FIRST + timedelta(30)
    before, expired = (of(file, NEW, *shifts, own_first_seen=own, today=day) for day in (last, after))
    assert word(before, 52.0)[0] == "DEGRADED" and "stale until 2026-12-31" in before.note
    verdict, reason = word(expired, 52.0)
    assert (verdict, expired.value) == ("FAIL", 55.5)
    assert (
        "driver 590.2 since 2026-12-01: its 30 days are over, it judges as any other: tune again (nearfar tune)"
        in reason
    )


def test_a_site_sets_how_long(file: ReferenceFile) -> None:
    assert word(of(file, NEW, shift(), days=0), 52.0)[0] == "FAIL"
    assert word(of(file, NEW, shift(), days=60, today=FIRST + timedelta(59)), 52.0)[0] == "DEGRADED"


def test_without_any_history_it_does_not_expire_and_says_so(file: ReferenceFile) -> None:
    reference = of(file, NEW, today=date(2036, 1, 1))
    assert word(reference, 52.0)[0] == "DEGRADED"
    assert "stale with no end, as no history says since when" in reference.note


@pytest.mark.parametrize(
    "change, said",
    [({"cuda": "13.1"}, "with CUDA 13.0; what CUDA 13.1 does"), ({"mps": "on"}, "with MPS off; what MPS on does")],
)
def test_other_software_than_the_driver(file: ReferenceFile, change: dict[str, str], said: str) -> None:
    stamp = {**OLD, **change}
    assert said in of(file, stamp).note
    assert of(file, stamp, shift()).stale_bounds == "widened", "the driver's shift says nothing of it"
    assert of(file, stamp, shift(after=stamp)).stale_bounds == "moved"


def test_a_driver_that_was_taken_back_makes_rows_fresh_again(file: ReferenceFile) -> None:
    back = of(file, OLD, shift(), shift(before=NEW, after=OLD, part=0.015))
    assert (back.stale, back.stale_bounds, back.value) == (False, None, 55.5)
    assert word(back, 52.0)[0] == "FAIL"


def test_one_upgrade_after_the_other(file: ReferenceFile) -> None:
    newer = {**NEW, "driver": "600.3"}
    second = shift(before={**NEW, "version": "1"}, after={**newer, "version": "2"}, part=-0.01, first_seen="2026-12-20")
    found = of(file, newer, shift(), second, today=date(2026, 12, 21))
    assert found.value == pytest.approx(55.5 * 0.985 * 0.99)
    assert "stale until 2027-01-19" in found.note
    assert of(file, newer, shift()).stale_bounds == "widened", "nothing leads there"


def test_a_node_that_stayed_behind_follows_the_shift_back(tmp_path: Path) -> None:
    """Rows that were tuned again with the new driver, on a node that still has the old one: stale since they were tuned."""
    file = reference_file(
        tmp_path, ROWS.replace('driver: "580.1"', 'driver: "590.2"').replace("2026-11-20", "2026-12-10")
    )
    found = of(file, OLD, shift(), own_first_seen=date(2026, 10, 1), today=date(2026, 12, 20))
    assert (found.stale_bounds, found.value) == ("moved", pytest.approx(55.5 / 0.985))
    assert "stale until 2027-01-09" in found.note


def test_a_driver_that_is_taken_back_after_tuning_begins_anew(tmp_path: Path) -> None:
    file = reference_file(
        tmp_path, ROWS.replace('driver: "580.1"', 'driver: "590.2"').replace("2026-11-20", "2026-12-10")
    )
    back = shift(before=NEW, after=OLD, part=0.015, first_seen="2026-10-01")
    found = of(file, OLD, back, own_first_seen=date(2027, 3, 1), today=date(2027, 3, 2))
    assert (found.stale_bounds, "stale until 2027-03-31" in found.note) == ("moved", True)


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
    assert of(file, NEW, shift()).stale and not of(file, NEW, shift(), cell="n0:g3").stale
    assert of(file, OLD, cell="n0:g3").stale and not of(file, OLD).stale


def test_of_another_model_or_row_nothing_is_taken(file: ReferenceFile) -> None:
    for other in (shift(gpu_model="H100"), shift(row="near.d2h"), shift(check="peer_check")):
        assert of(file, NEW, other).stale_bounds == "widened"


def test_published_values_are_never_stale(tmp_path: Path) -> None:
    from tests.verdict.test_references import PUBLISHED

    assert not of(reference_file(tmp_path, PUBLISHED), NEW, shift()).stale


def test_a_stale_row_is_never_harder_than_the_same_row_fresh(tmp_path: Path) -> None:
    """A row from few nodes may have its FAIL bound below half of the link."""
    file = reference_file(tmp_path, ROWS.replace("near.h2d: [55.5, -0.02,", "near.h2d: [55.5, -0.5,"))
    assert of(file, NEW).lowest == pytest.approx(55.5 * 0.5)


def test_what_a_fleet_did_within_its_noise_is_said_so(file: ReferenceFile) -> None:
    found = of(file, NEW, shift(part=0.0004, interval=(-0.002, 0.003)))
    assert "the fleet did not move beyond its noise with driver 590.2 (45 nodes)" in found.note


def test_verdict_json_says_how_a_stale_row_judged_and_nothing_else_changes(tmp_path: Path) -> None:
    for how in (None, "moved", "widened", "as tuned"):
        reference = JudgedReference(55.0, None, None, "GB/s", "tuned", "n", how is not None, None, how)
        raw = verdict_file.to_raw(judged("host_device_check", judged_metric(reference=reference)))
        assert ("stale_bounds" in raw["metrics"][0]["reference"]) == (how is not None)
        back = verdict_file.from_raw(raw, tmp_path / "verdict.json").metrics[0].reference
        assert back is not None and back.stale_bounds == how
