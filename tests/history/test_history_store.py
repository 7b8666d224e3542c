"""Reading the history: each figure once, in order, whatever lies in its directory; compaction changes no answer."""

from __future__ import annotations

import os
import shutil
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest

from nearfar import history
from nearfar.base.errors import CouldNotJudge
from nearfar.base.files import file_lock
from nearfar.history import History, RowFilter, compaction, record, schema
from tests.data.runs import nightly

METRIC = RowFilter(metric="sole.n0_g0")


def opened(directory: Path) -> tuple[History, list[str]]:
    said: list[str] = []
    return History(directory, said.append), said


def kept(tmp_path: Path, days: list[str], nodes: tuple[str, ...] = ("gpu001", "gpu002")) -> Path:
    for day in days:
        record(nightly.run(tmp_path / "reports", dict.fromkeys(nodes, 1.0), day), tmp_path / "history")
    return tmp_path / "history"


def test_questions(tmp_path: Path) -> None:
    store, said = opened(kept(tmp_path, ["2026-10-31", "2026-11-01", "2026-11-02"]))
    assert len(store.rows(METRIC)) == 6
    assert len(store.rows(RowFilter(row="sole.h2d"))) == 24, "a row of references stands for all its figures"
    assert set(store.rows(RowFilter(nodes=("gpu002",)))["node"]) == {"gpu002"}
    since = RowFilter(metric="sole.n0_g0", since=datetime(2026, 11, 1, tzinfo=timezone.utc))
    assert len(store.rows(since)) == 4
    assert store.rows(RowFilter(check="peer_check")).is_empty()
    assert store.systems() == ["redwood"] and said == []


def test_an_empty_history_has_no_rows(tmp_path: Path) -> None:
    store, said = opened(tmp_path / "nowhere")
    assert store.rows(METRIC).is_empty() and store.systems() == [] and said == []


def test_compaction_changes_no_answer(tmp_path: Path) -> None:
    directory = kept(tmp_path, ["2026-10-31", "2026-11-01", "2026-11-02"])
    store, _ = opened(directory)
    before = store.rows(RowFilter())
    assert history.compact(store) == (6, 2), "one file a month"
    assert store.rows(RowFilter()).equals(before)
    assert history.compact(store) == (0, 0)
    # The same runs again change nothing, though their own files are gone.
    kept(tmp_path / "again", ["2026-11-01"])
    shutil.copytree(tmp_path / "again/history", directory, dirs_exist_ok=True)
    assert len(store.rows(RowFilter())) == len(before)


def test_small_compacted_files_are_taken_in_and_large_ones_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = kept(tmp_path, ["2026-11-01"])
    store, _ = opened(directory)
    history.compact(store)
    kept(tmp_path, ["2026-11-02"])
    assert history.compact(store) == (3, 1)
    monkeypatch.setattr(compaction, "SMALL", 10)
    kept(tmp_path, ["2026-11-03"])
    assert history.compact(store) == (2, 1)
    assert len(store.rows(METRIC)) == 6


def test_chunks_hold_whole_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "CHUNK", 50)
    directory = kept(tmp_path, ["2026-11-01", "2026-11-02"], ("a", "b", "c"))
    store, _ = opened(directory)
    before = store.rows(RowFilter())
    assert history.compact(store) == (6, 3)
    files = [pl.read_parquet(path)["node"].unique().to_list() for path in directory.rglob("all=*.parquet")]
    assert sorted(files) == [["a"], ["b"], ["c"]]
    assert store.rows(RowFilter()).equals(before)


def test_one_compaction_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _ = opened(kept(tmp_path, ["2026-11-01"]))
    real = compaction.file_lock
    monkeypatch.setattr(compaction, "file_lock", lambda path, limit: real(path, 0.1))
    with file_lock(store.directory / "compaction.lock"), pytest.raises(CouldNotJudge, match="held by another"):
        history.compact(store)


def test_half_files_and_foreign_files_are_told_and_left_out(tmp_path: Path) -> None:
    directory = kept(tmp_path, ["2026-11-01"])
    month = next(directory.rglob("month=*"))
    good = next(month.glob("gpu001*.parquet"))
    (month / "gpu003.x.half.parquet").write_bytes(good.read_bytes()[:1000])
    (month / "gpu004.x.text.parquet").write_text("hello")
    pl.DataFrame({"node": [1], "value": ["a"]}).write_parquet(month / "gpu005.x.other.parquet")
    (month / ".gpu006.beside").write_bytes(good.read_bytes()[:1000])
    store, said = opened(directory)
    assert len(store.rows(METRIC)) == 2
    assert len(said) == 3 and any("gpu005" in line and "not a file of the history" in line for line in said), said
    assert len(store.rows(METRIC)) == 2 and len(said) == 3, "told once"
    assert store.aggregated(METRIC, ["node"], pl.len())["node"].to_list() == ["gpu001", "gpu002"]
    assert history.compact(store)[1] == 1
    assert len(store.rows(METRIC)) == 2


def test_readers_while_others_write_and_compact(tmp_path: Path) -> None:
    directory = kept(tmp_path, ["2026-11-01"])
    runs = [nightly.run(tmp_path / "r", {"gpu001": 1.0}, f"2026-11-{day:02}") for day in range(2, 12)]
    store, said = opened(directory)
    seen: list[int] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append(len(store.rows(RowFilter(nodes=("gpu001",), metric="sole.n0_g0"))))
            assert not store.aggregated(METRIC, ["node"], pl.len()).is_empty()

    reader = threading.Thread(target=read)
    reader.start()
    for run in runs:
        record(run, directory)
        history.compact(opened(directory)[0])
    done.set()
    reader.join()
    assert seen == sorted(seen) and said == [], (seen, said)
    assert len(store.rows(METRIC)) == 12


def row(run: str, sequence: int, recorded: datetime, started: datetime) -> dict[str, object]:
    return {"node": "a", "source": run, "run": run, "sequence": sequence, "recorded": recorded, "started": started,
            "check": "c", "metric": "m", "rows": ["m"]}  # fmt: skip


def ordered(rows: list[dict[str, object]]) -> list[str]:
    frame = pl.DataFrame(rows, schema={k: v for k, v in schema.row_schema().items() if k in rows[0]})
    from nearfar.history.store import in_order

    return in_order(frame)["run"].to_list()


def test_a_clock_set_back_reorders_nothing() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
    hour = timedelta(hours=1)
    rows = [row("first", 1, noon, noon - hour), row("second", 2, noon + hour, noon), row("set back", 3, noon - 5 * hour, noon - 6 * hour),
            row("after", 4, noon - 4 * hour, noon - 5 * hour)]  # fmt: skip
    assert ordered(rows) == ["first", "second", "set back", "after"]


def test_an_old_run_that_is_recorded_late_stands_in_its_place() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
    hour = timedelta(hours=1)
    rows = [row("new", 1, noon, noon - hour), row("old", 2, noon + hour, noon - 100 * hour)]
    assert ordered(rows) == ["old", "new"]


def test_a_lost_counter_goes_on_where_it_was(tmp_path: Path) -> None:
    directory = kept(tmp_path, ["2026-11-01", "2026-11-02"], ("gpu001",))
    shutil.rmtree(next(directory.rglob("sequence")))
    kept(tmp_path, ["2026-11-03"], ("gpu001",))
    assert opened(directory)[0].rows(METRIC)["sequence"].to_list() == [1, 2, 3]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_another_users_rows_are_shown_and_never_trusted(tmp_path: Path) -> None:
    directory = kept(tmp_path, ["2026-11-01"])
    forged = next(directory.rglob("gpu002.*.parquet"))
    os.chown(forged, 12345, -1)
    assert len(opened(directory)[0].rows(METRIC)) == 2
    said: list[str] = []
    store = History(directory, said.append, history.trusted(directory))
    assert store.rows(METRIC)["node"].to_list() == ["gpu001"]
    assert len(said) == 1 and "belongs to user 12345" in said[0]
    history.compact(store)
    assert forged.exists(), "nor is it merged with what is trusted"
