"""What a fleet has with each software: out of the history's nights, and the file."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

from nearfar import history
from nearfar.base import utc_text
from nearfar.history import History, fleet_levels
from nearfar.history.fleet_levels import FleetLevel
from nearfar.history.schema import row_schema
from tests.data.runs import nightly

NOW = datetime(2026, 11, 20, tzinfo=timezone.utc)
OLD, NEW = "580.159.04", "590.1"
LEVEL = FleetLevel("gpu", "c", "near.h2d", "H", "GB/s", {"driver": "1"}, 55.0, 54.9, 55.2, 45, "2026-11-13")


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


def host_copies(store: History, now: datetime = NOW) -> list[FleetLevel]:
    return [level for level in fleet_levels.of_system(store, "redwood", now) if level.row == "sole.h2d"]


def test_each_software_has_the_level_of_its_nodes(tmp_path: Path, one_night: pl.DataFrame) -> None:
    """Six of ten nodes have the new driver by and by; what failed by the old references counts."""
    upgrades = {f"n{n}": 6 + n % 3 if n < 6 else None for n in range(10)}
    store = fleet(tmp_path, one_night, upgrades)
    before, after = host_copies(store)
    assert (before.software["driver"], before.nodes, before.first_seen) == (OLD, 10, "2026-11-01")
    assert (after.software["driver"], after.nodes, after.first_seen) == (NEW, 6, "2026-11-07")
    assert after.value / before.value == pytest.approx(0.985, abs=0.001)
    assert after.low <= after.value <= after.high < before.low
    (change,) = fleet_levels.changes([before, after])
    assert change[1].part(change[0].value) == pytest.approx(-0.015, abs=0.001)


def test_partitions_have_levels_of_their_own(tmp_path: Path, one_night: pl.DataFrame) -> None:
    """One GPU model may sit in two kinds of nodes."""
    store = fleet(tmp_path, one_night, dict.fromkeys([f"n{n}" for n in range(7)]))
    path = next(tmp_path.rglob("*.parquet"))
    old = pl.col("node") < "n3"
    slow = pl.when(old).then(pl.col("value") / 2).otherwise("value")
    named = pl.when(old).then(pl.lit("gen4")).otherwise(pl.lit("gen5"))
    pl.read_parquet(path).with_columns(value=slow, partition=named).write_parquet(path)
    gen4, gen5 = host_copies(store)
    assert (gen4.partition, gen4.nodes, gen5.partition, gen5.nodes) == ("gen4", 3, "gen5", 4)
    assert gen5.value == pytest.approx(2 * gen4.value, rel=0.01)
    assert list(fleet_levels.changes([gen4, gen5])) == []


def test_one_bad_node_of_three_moves_no_level(tmp_path: Path, one_night: pl.DataFrame) -> None:
    store = fleet(tmp_path, one_night, dict.fromkeys(("n0", "n1", "n2"), 6))
    path = next(tmp_path.rglob("*.parquet"))
    slow = pl.when(pl.col("node") == "n1").then(pl.col("value") / 2).otherwise("value")
    before = host_copies(store)
    pl.read_parquet(path).with_columns(value=slow).write_parquet(path)
    assert [each.value for each in host_copies(store)] == pytest.approx([each.value for each in before], rel=0.002)


def test_two_nodes_are_no_fleet(tmp_path: Path, one_night: pl.DataFrame) -> None:
    store = fleet(tmp_path, one_night, {"n0": 6, "n1": 7, "n2": None, "n3": None})
    assert {each.software["driver"] for each in fleet_levels.of_system(store, "redwood", NOW)} == {OLD}


@pytest.mark.parametrize(
    "column, value", [("converged", False), ("verified", False), ("throttled", True), ("quick", True)]
)
def test_what_was_not_measured_well_is_no_level(
    tmp_path: Path, one_night: pl.DataFrame, column: str, value: bool
) -> None:
    store = fleet(tmp_path, one_night.with_columns(pl.lit(value).alias(column)), dict.fromkeys(("n0", "n1", "n2")))
    assert fleet_levels.of_system(store, "redwood", NOW) == ()


def test_old_nights_are_no_level(tmp_path: Path, one_night: pl.DataFrame) -> None:
    store = fleet(tmp_path, one_night, dict.fromkeys(("n0", "n1", "n2")))
    assert fleet_levels.of_system(store, "redwood", NOW + timedelta(days=100)) == ()
    assert fleet_levels.of_system(store, "elsewhere", NOW) == ()


def test_what_was_written_is_read(tmp_path: Path) -> None:
    levels = (LEVEL, replace(LEVEL, row="local.triad", gpu_model=None))
    path = fleet_levels.write(tmp_path, "a system", levels)
    assert fleet_levels.read(tmp_path, "a system", "gpu") == levels
    assert fleet_levels.read(tmp_path, "a system", "other") == ()
    later = datetime.now(timezone.utc) + timedelta(days=100)
    assert fleet_levels.read(tmp_path, "a system", "gpu", later) == (), "nobody has looked for months"
    assert path == tmp_path / "rows-1/system=a_system/levels.json"
    assert json.loads(path.read_text())["schema"] == "nearfar-levels/1"


TIME = utc_text()
BROKEN = [{"value": -1.0}, {"value": 1e-18}, {"high": 1e400}, {"nodes": 2}, {"nodes": 1e400}, {"low": 60.0}]
FILES = [
    json.dumps({"schema": "nearfar-levels/1", "system": "redwood", "time": TIME, "levels": [{**vars(LEVEL), **each}]})
    for each in BROKEN
]


@pytest.mark.parametrize(
    "content",
    ["", "half {", "[]", "4", '{"schema": "nearfar-levels/2", "levels": []}', '{"schema": "nearfar-levels/1"}',
     '{"schema": "nearfar-levels/1", "system": "redwood", "levels": [{"check": "c"}]}',
     '{"schema": "nearfar-levels/1", "system": "redwood", "levels": [4]}', "[" * 100_000,
     f'{{"schema": "nearfar-levels/1", "system": "redwood", "time": "{TIME}", "levels": [4]}}', *FILES],
    ids=itertools.count(),
)  # fmt: skip
def test_a_file_that_is_broken_or_newer_has_no_levels(tmp_path: Path, content: str) -> None:
    assert fleet_levels.read(tmp_path, "redwood", "gpu") == ()
    fleet_levels.write(tmp_path, "redwood", [LEVEL]).write_text(content)
    assert fleet_levels.read(tmp_path, "redwood", "gpu") == ()


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    path = fleet_levels.write(tmp_path, "redwood", [LEVEL])
    path.unlink()
    os.mkfifo(path)
    assert fleet_levels.read(tmp_path, "redwood", "gpu") == ()


def test_another_users_file_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet_levels.write(tmp_path, "redwood", [LEVEL])
    monkeypatch.setattr(fleet_levels, "trusted", lambda place: frozenset())
    assert fleet_levels.read(tmp_path, "redwood", "gpu") == ()
