"""What the history says to the judge of a node whose software is other than that of its references."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from nearfar import history
from nearfar.history import fleet_shift
from nearfar.history.fleet_shift import FleetShift
from tests.data.runs import nightly

NOW = datetime(2026, 11, 25, 12, tzinfo=timezone.utc)
DRIVER = {"driver": "590.12"}
SHIFT = FleetShift(
    "host_device_check",
    "sole.h2d",
    "NVIDIA H200",
    {"driver": "580.1"},
    DRIVER,
    -0.015,
    -0.016,
    -0.014,
    45,
    43,
    "2026-11-13",
)


def renewed(raw: dict[str, Any]) -> None:
    raw["node"]["software"].update(DRIVER)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four nights of two nodes; gpu001 has the new driver from the third on."""
    folder = tmp_path_factory.mktemp("upgrades")
    for day in (10, 11, 12, 13):
        for node in ("gpu001", "gpu002"):
            change = renewed if node == "gpu001" and day > 11 else None
            history.record(nightly.run(folder / node, {node: 1.0}, f"2026-11-{day}", change=change), folder / "history")
    return folder / "history"


def known(place: Path, node: str = "gpu001", **software: str) -> Any:
    return history.upgrade(nightly.SYSTEM, node, software or DRIVER, 30, place, NOW)


def test_a_nodes_own_first_run_with_its_software(kept: Path) -> None:
    assert known(kept).own_first_seen == date(2026, 11, 12)
    assert known(kept, "GPU001.example.org").own_first_seen == date(2026, 11, 12)
    assert known(kept, "gpu002").own_first_seen is None, "it never had it"
    assert known(kept, driver="600.1").own_first_seen is None
    assert (known(kept).today, known(kept).days) == (NOW.date(), 30)


def test_who_goes_back_to_a_driver_has_it_since_then(tmp_path: Path) -> None:
    for day in range(10, 16):
        change = renewed if day in (10, 11, 14, 15) else None
        history.record(
            nightly.run(tmp_path / "r", {"gpu001": 1.0}, f"2026-11-{day}", change=change), tmp_path / "history"
        )
    assert known(tmp_path / "history").own_first_seen == date(2026, 11, 14)


def test_without_a_history_nothing_is_known(tmp_path: Path) -> None:
    found = known(tmp_path)
    assert (found.shifts, found.own_first_seen) == ((), None)


def test_the_fleets_shifts_are_handed_on(tmp_path: Path) -> None:
    fleet_shift.write(tmp_path, nightly.SYSTEM, [SHIFT])
    assert known(tmp_path).shifts == (SHIFT,)


def test_a_shifts_file_that_is_none_says_nothing(tmp_path: Path) -> None:
    path = fleet_shift.write(tmp_path, nightly.SYSTEM, [SHIFT])
    whole = json.loads(path.read_text())
    one = whole["shifts"][0]
    for broken in (
        "{", "[]", json.dumps({**whole, "schema": "nearfar-shifts/2"}), json.dumps({**whole, "system": "another"}),
        json.dumps({**whole, "shifts": [{**one, "part": "much"}]}), json.dumps({**whole, "shifts": [{**one, "part": -2}]}),
        json.dumps({**whole, "shifts": 3}),
    ):  # fmt: skip
        path.write_text(broken)
        assert known(tmp_path).shifts == (), broken


def test_a_first_day_that_is_yet_to_come_is_none(tmp_path: Path) -> None:
    from nearfar.verdict.references import Upgrade, software_changes

    then, future = {"driver": "580.1"}, FleetShift(**{**vars(SHIFT), "first_seen": "2099-01-01"})
    for shifts, own, expected in (
        ([future], None, None), ([future], date(2026, 11, 20), date(2026, 11, 20)), ([SHIFT], date(2026, 11, 20), date(2026, 11, 13)),
    ):  # fmt: skip
        assert software_changes.first_seen(Upgrade(shifts, own, NOW.date()), then, DRIVER) == expected
    tuned = date(2099, 1, 1)
    assert software_changes.first_seen(Upgrade([SHIFT], today=NOW.date()), then, DRIVER, tuned) == date(2026, 11, 13)
