"""What a fleet's figures did when its software changed: the estimate, the history's nights, the file."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nearfar import history
from nearfar.history import History, fleet_shift
from nearfar.history.fleet_shift import FleetShift
from nearfar.history.schema import row_schema
from nearfar.history.store import RowFilter
from tests.data.runs import nightly

NOW = datetime(2026, 11, 20, tzinfo=timezone.utc)
OLD, NEW = "580.159.04", "590.1"
SHIFT = FleetShift("c", "near.h2d", "H", {"driver": "1"}, {"driver": "2"}, -0.015, -0.016, -0.014, 45, 43, "2026-11-13")


def node(source: random.Random, part: float, sigma: float = 0.002) -> tuple[list[float], list[float]]:
    """Some nights of a node before and after a change."""
    level = 55.0 * (1 + source.gauss(0, 0.005))
    before, after = ([level * (1 + source.gauss(0, sigma)) for _ in range(count)] for count in (14, 3))
    return before, [value * (1 + part) for value in after]


def test_the_common_change_is_found_whatever_a_few_nodes_do() -> None:
    source = random.Random(1)
    for own in (0.0, -0.05, -0.5, 0.03):
        found = fleet_shift.estimate([node(source, -0.015 if n >= 13 else own) for n in range(45)])
        assert found is not None
        assert found.part == pytest.approx(-0.015, abs=0.001)
        assert found.low <= found.part <= found.high and found.high - found.low < 0.004
        assert found.nodes == 45 and found.seen >= (32 if own >= 0 else 45)


def test_its_interval_holds_the_truth() -> None:
    source = random.Random(2)
    held = 0
    for _ in range(200):
        found = fleet_shift.estimate([node(source, -0.004) for _ in range(12)])
        assert found is not None
        held += found.low <= -0.004 <= found.high
    assert held >= 180


def test_nodes_that_have_not_changed_say_nothing() -> None:
    changed = [([55.0], [54.0])] * 3
    assert fleet_shift.estimate([*changed, *[([55.0], [])] * 20, *[([], [54.0])] * 20]) == fleet_shift.estimate(changed)


@pytest.mark.parametrize("nodes", [[], [([55.0], [54.0])] * 2, [([0.0], [54.0])] * 5, [([55.0], [-1.0])] * 5])
def test_fewer_than_three_nodes_with_figures_have_nothing_in_common(
    nodes: Sequence[tuple[list[float], list[float]]],
) -> None:
    assert fleet_shift.estimate(nodes) is None


def test_no_shift_is_one_too_and_is_not_certain() -> None:
    source = random.Random(3)
    found = fleet_shift.estimate([node(source, 0.0) for _ in range(20)])
    assert found is not None
    shift = replace(SHIFT, part=found.part, low=found.low, high=found.high)
    assert abs(found.part) < 0.002 and not shift.certain


def test_what_is_worse_follows_from_the_unit() -> None:
    assert SHIFT.worse and SHIFT.certain and not replace(SHIFT, part=0.01).worse
    assert replace(SHIFT, part=0.1, unit="us").worse and not replace(SHIFT, unit="us").worse
    both = replace(SHIFT, after={"driver": "2", "version": "0.3"})
    assert both.changed == "driver 1 -> 2, nearfar unknown -> 0.3"


@pytest.fixture(scope="module")
def one_night(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The rows of one node and night."""
    place = tmp_path_factory.mktemp("night")
    kept = history.record(nightly.run(place, {"n0": 1.0}, "2026-11-01"), place / "history")
    return pl.read_parquet(next(kept.rglob("*.parquet")))


def fleet(
    place: Path, night: pl.DataFrame, upgrades: Mapping[str, int | None], nights: int = 12, part: float = -0.015
) -> History:
    """A history of nodes from 2026-11-01 on; each has the new driver from its night on, or never."""
    source = random.Random(4)
    rows = []
    for name, upgrade in upgrades.items():
        for number in range(nights):
            new = upgrade is not None and number >= upgrade
            factor = (1 + part if new else 1.0) * (1 + source.gauss(0, 0.001))
            rows.append(night.with_columns(
                pl.col("started", "recorded").dt.offset_by(f"{number}d"), node=pl.lit(name), value=pl.col("value") * factor,
                source=pl.lit(f"{name}.{number}"), sequence=pl.lit(number + 1, pl.Int64), driver=pl.lit(NEW if new else OLD),
                gpu_uuid=pl.col("gpu_uuid").str.replace("n0", name),
                # After an upgrade references are stale, and may fail every figure.
                verdict=pl.lit("FAIL" if new else "PASS"),
            ))  # fmt: skip
    folder = place / "rows-1/system=redwood/month=2026-11"
    folder.mkdir(parents=True)
    pl.concat(rows).select(list(row_schema())).write_parquet(folder / "all=1.parquet")
    return History(place, lambda words: None)


def test_a_fleet_is_read_in_parts_and_only_next_to_the_change(
    tmp_path: Path, one_night: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few nodes at a time, none that has not changed, and no nights long after; all together give what one reading gives."""
    upgrades = {f"n{n}": 3 + n % 3 if n < 6 else None if n < 9 else 0 for n in range(10)}
    store = fleet(tmp_path, one_night, upgrades)
    whole = fleet_shift.of_system(store, "redwood", NOW).shifts
    assert {each.first_seen for each in whole} == {"2026-11-01"}, "a node that never had another counts for the day"
    asked: list[tuple[str, ...]] = []
    ask = store.aggregated

    def watched(question: RowFilter, *words: Any, **more: Any) -> pl.DataFrame:
        asked.append(question.nodes or ())
        return ask(question, *words, **more)

    monkeypatch.setattr(store, "aggregated", watched)
    monkeypatch.setattr(fleet_shift, "NODES", 2)
    assert fleet_shift.of_system(store, "redwood", NOW).shifts == whole
    assert asked == [(), ("n0", "n1"), ("n2", "n3"), ("n4", "n5")]
    monkeypatch.setattr(fleet_shift, "AFTER", timedelta(0))
    assert {each.nodes for each in fleet_shift.of_system(store, "redwood", NOW).shifts} == {6}


def test_a_rolling_upgrade_gives_the_shift_of_those_that_have_both(tmp_path: Path, one_night: pl.DataFrame) -> None:
    upgrades = {f"n{n}": 6 + n % 3 if n < 6 else None for n in range(10)}
    found = fleet_shift.of_system(fleet(tmp_path, one_night, upgrades), "redwood", NOW)
    assert found.why is None
    assert {(each.check, each.gpu_model, each.nodes, each.seen, each.first_seen) for each in found.shifts} == {
        ("host_device_check", "NVIDIA H200", 6, 6, "2026-11-07")
    }
    shift = next(each for each in found.shifts if each.row == "sole.h2d")
    assert shift.part == pytest.approx(-0.015, abs=0.001) and shift.certain and shift.worse
    assert shift.changed == "driver 580.159.04 -> 590.1"
    assert (shift.before["driver"], shift.after["driver"]) == (OLD, NEW)


def test_a_site_of_one_node_has_no_fleet_and_is_told(tmp_path: Path, one_night: pl.DataFrame) -> None:
    found = fleet_shift.of_system(fleet(tmp_path, one_night, {"n0": 6}), "redwood", NOW)
    assert found.shifts == ()
    assert found.why is not None and (found.why.code, found.why.fields["nodes"]) == ("shift.no_fleet", 1)


def test_too_few_nodes_with_both_are_told(tmp_path: Path, one_night: pl.DataFrame) -> None:
    found = fleet_shift.of_system(
        fleet(tmp_path, one_night, {"n0": 6, "n1": 7, "n2": None, "n3": None}), "redwood", NOW
    )
    assert found.shifts == ()
    assert found.why is not None and found.why.code == "shift.too_few_nodes"
    assert found.why.fields == {"nodes": 2, "needed": 3}


def test_without_a_change_there_is_no_shift(tmp_path: Path, one_night: pl.DataFrame) -> None:
    store = fleet(tmp_path, one_night, dict.fromkeys(("n0", "n1", "n2", "n3")))
    found = fleet_shift.of_system(store, "redwood", NOW)
    assert found.shifts == () and found.why is not None and found.why.code == "shift.one_software"
    assert found.why.fields == {"nodes": 4, "since": "2026-08-20"}
    assert fleet_shift.of_system(store, "elsewhere", NOW).shifts == ()


def test_a_board_that_was_changed_with_the_driver_says_nothing(tmp_path: Path, one_night: pl.DataFrame) -> None:
    store = fleet(tmp_path, one_night, {f"n{n}": 6 for n in range(3)})
    path = next(tmp_path.rglob("*.parquet"))
    moved = pl.when((pl.col("node") == "n0") & (pl.col("driver") == NEW)).then(pl.lit("GPU-new")).otherwise("gpu_uuid")
    pl.read_parquet(path).with_columns(gpu_uuid=moved).write_parquet(path)
    assert fleet_shift.of_system(store, "redwood", NOW).shifts == ()


def test_shifts_are_kept_when_their_nights_are_gone(tmp_path: Path, one_night: pl.DataFrame) -> None:
    store = fleet(tmp_path, one_night, {f"n{n}": 6 for n in range(4)})
    found = fleet_shift.of_system(store, "redwood", NOW)
    fleet_shift.write(tmp_path, "redwood", found.shifts)
    assert fleet_shift.of_system(store, "redwood", NOW).shifts == found.shifts, "made again, not twice"
    later = datetime(2027, 6, 1, tzinfo=timezone.utc)
    assert fleet_shift.of_system(store, "redwood", later).shifts == found.shifts
    assert fleet_shift.of_system(store, "redwood", datetime(2029, 1, 1, tzinfo=timezone.utc)).shifts == ()


def test_what_was_written_is_read(tmp_path: Path) -> None:
    shifts = (SHIFT, replace(SHIFT, row="local.triad", gpu_model=None))
    path = fleet_shift.write(tmp_path, "a system", shifts)
    assert fleet_shift.read(tmp_path, "a system") == shifts
    assert path == tmp_path / "rows-1/system=a_system/shifts.json"
    assert json.loads(path.read_text())["schema"] == "nearfar-shifts/1"


@pytest.mark.parametrize(
    "content",
    ["", "half {", "[]", '{"schema": "nearfar-shifts/2", "shifts": []}', '{"schema": "nearfar-shifts/1"}',
     '{"schema": "nearfar-shifts/1", "shifts": [{"check": "c"}]}', '{"schema": "nearfar-shifts/1", "shifts": [4]}'],
)  # fmt: skip
def test_a_file_that_is_broken_or_newer_has_no_shifts(tmp_path: Path, content: str) -> None:
    assert fleet_shift.read(tmp_path, "redwood") == ()
    fleet_shift.write(tmp_path, "redwood", [SHIFT]).write_text(content)
    assert fleet_shift.read(tmp_path, "redwood") == ()


def test_another_users_file_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet_shift.write(tmp_path, "redwood", [SHIFT])
    monkeypatch.setattr(fleet_shift, "trusted", lambda place: frozenset())
    assert fleet_shift.read(tmp_path, "redwood") == ()


def test_a_system_without_recent_figures_is_told_so(tmp_path: Path, one_night: pl.DataFrame) -> None:
    store = fleet(tmp_path, one_night, {"n0": None})
    found = fleet_shift.of_system(store, "redwood", NOW + timedelta(days=400))
    assert found.shifts == () and found.why is not None
    assert (found.why.code, found.why.fields["since"]) == ("shift.no_figure", "2027-09-24")
