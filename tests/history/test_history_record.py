"""Keeping runs: which rows there are, and what never gets in."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nearfar import history
from nearfar.base.errors import CouldNotJudge
from nearfar.history import series, text
from nearfar.history.schema import row_schema
from nearfar.history.store import History, RowFilter
from nearfar.topology import Gpu, Node, NumaNode, Package, node_from_document, node_to_document
from nearfar.topology.inventory import nvml
from tests.data.runs import nightly
from tests.support.fake_nvml import FakeGpu, FakeNvml


def rows(kept: Path) -> pl.DataFrame:
    files = list(kept.rglob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]) if files else pl.DataFrame(schema=row_schema())


def lines_of(run: Path, kept: Path) -> list[str]:
    said: list[str] = []
    history.record(run, kept, said.append)
    return said


def test_a_figure_becomes_one_row(tmp_path: Path) -> None:
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0})
    kept = history.record(run, tmp_path / "history")
    found = rows(kept)
    verdict = json.loads((run / "gpu001/host_device_check/verdict.json").read_text())
    assert len(found) == len(verdict["metrics"])
    assert found.schema == pl.Schema(row_schema())
    row = found.filter(pl.col("metric") == "sole.n0_g2").to_dicts()[0]
    metric = next(m for m in verdict["metrics"] if m["name"] == "sole.n0_g2")
    assert (row["system"], row["node"], row["run"]) == ("redwood", "gpu001", "20261120T020000")
    assert (row["gpus"], row["gpu_model"], row["gpu_uuid"]) == ("2", "NVIDIA H200", "GPU-gpu001-2")
    assert (row["driver"], row["cuda"], row["program"], row["engine"]) == ("580.159.04", "13.0", "nearfar-copy", "ce")
    assert (row["value"], row["low"], row["high"]) == (metric["value"], *metric["interval"])
    assert (row["lowest"], row["origin"]) == (metric["reference"]["lowest"], "prediction")
    assert row["n"] >= 6 and row["verified"] is True and row["throttled"] is False and row["contended"] is False
    assert row["rows"] == ["sole.n0_g2", "sole.h2d"]


def test_the_same_run_twice_counts_once(tmp_path: Path) -> None:
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0, "gpu002": 1.0})
    kept = history.record(run, tmp_path / "history")
    once = rows(kept)
    run.rename(tmp_path / "moved")
    history.record(tmp_path / "moved", kept)
    assert len(rows(kept)) == len(once)


def test_nothing_modelled_gets_in(tmp_path: Path) -> None:
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0})
    path = run / "gpu001/host_device_check/verdict.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "kind": "modelled"}))
    assert lines_of(run, tmp_path / "history") == []
    assert rows(tmp_path / "history").is_empty()


def test_a_document_that_is_modelled_under_a_measured_verdict_is_told(tmp_path: Path) -> None:
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0})
    path = run / "gpu001/host_device_check/verdict.json"
    raw = json.loads(path.read_text())
    raw["measurement"]["kind"] = "modelled"
    path.write_text(json.dumps(raw))
    said = lines_of(run, tmp_path / "history")
    assert len(said) == 1 and "is measured, and its document modelled" in said[0]


def measured(**parts: Any) -> Any:
    """Changes what a verdict says of its document."""

    def spoil(text: str) -> str:
        raw = json.loads(text)
        return json.dumps({**raw, "measurement": {**raw["measurement"], **parts}})

    return spoil


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda text: text[: len(text) // 2], "not a whole JSON document"),
        (measured(hostname="gpu777"), "verdict.json: is of node gpu777"),
        (lambda text: text.replace('"node": "gpu001"', '"node": "gpu777"'), "verdict.json: is of node gpu777"),
        (lambda text: text.replace("nearfar-verdict/2", "other/1"), "expected schema nearfar-verdict/2"),
        (measured(started="soon"), "'soon' is not a time"),
        (lambda text: json.dumps({**json.loads(text), "measurement": None}), "does not name the document"),
        (lambda text: "[1, 2]", "expected a JSON object"),
        (lambda text: '{"schema": "nearfar-verdict/2", "kind": "measured", "node": 3}', "is a required property"),
        (lambda text: "", "not a whole JSON document"),
    ],
)
def test_a_bad_verdict_is_told_and_costs_only_itself(tmp_path: Path, spoil: Any, words: str) -> None:
    run = nightly.run(
        tmp_path / "reports", {"gpu001": 1.0, "gpu002": 1.0}, checks=("host_device_check", "host_memory_check")
    )
    path = run / "gpu001/host_device_check/verdict.json"
    path.write_text(spoil(path.read_text()))
    said = lines_of(run, tmp_path / "history")
    assert len(said) == 1 and words in said[0] and "gpu001/host_device_check" in said[0], said
    kept = rows(tmp_path / "history").select("node", "check").unique().sort("node", "check").rows()
    assert kept == [
        ("gpu001", "host_memory_check"), ("gpu002", "host_device_check"), ("gpu002", "host_memory_check"),
    ]  # fmt: skip


def test_what_is_no_number_has_no_row(tmp_path: Path) -> None:
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0})
    path = run / "gpu001/host_device_check/verdict.json"
    verdict = json.loads(path.read_text())
    verdict["metrics"][0]["value"] = float("nan")
    path.write_text(json.dumps(verdict))
    assert lines_of(run, tmp_path / "history") == []
    assert verdict["metrics"][0]["name"] not in rows(tmp_path / "history")["metric"].to_list()


def test_the_quality_of_a_figure_is_kept(tmp_path: Path) -> None:
    def change(raw: dict[str, Any]) -> None:
        raw["program"]["quick"] = True
        raw["gpus_under_load"][1]["throttle"] = ["hw_thermal"]
        raw["gpus_under_load"][2]["throttle"] = ["applications_clocks"]
        for result in raw["results"]:
            if result["cell"] == "n0:g3":
                result["converged"] = False

    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0}, change=change)
    found = rows(history.record(run, tmp_path / "history"))
    by_name = {row["metric"]: row for row in found.to_dicts()}
    assert all(row["quick"] for row in by_name.values())
    assert [by_name[f"sole.n0_g{gpu}"]["throttled"] for gpu in range(4)] == [False, True, False, False]
    assert [by_name[f"sole.n0_g{gpu}"]["converged"] for gpu in range(4)] == [True, True, True, False]


def test_nodes_record_at_once(tmp_path: Path) -> None:
    runs = [nightly.run(tmp_path / f"{n}", {f"gpu{n:03}": 1.0}) for n in range(8)]
    threads = [threading.Thread(target=history.record, args=(run, tmp_path / "history")) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(tmp_path / "history")["node"].n_unique() == 8
    assert not list((tmp_path / "history").rglob(".*.parquet*")), "something half written was left"


def test_recordings_of_a_node_are_counted(tmp_path: Path) -> None:
    for day in ("2026-11-21", "2026-11-20"):
        history.record(nightly.run(tmp_path / day, {"gpu001": 1.0}, day), tmp_path / "history")
    found = rows(tmp_path / "history").select("sequence", "run").unique().sort("sequence").rows()
    assert found == [(1, "20261121T020000"), (2, "20261120T020000")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_history_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0})
    (tmp_path / "history").mkdir(mode=0o500)
    with pytest.raises(CouldNotJudge, match="NEARFAR_HISTORY"):
        history.record(run, tmp_path / "history")


def test_a_file_in_the_histories_place_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("")
    with pytest.raises(CouldNotJudge, match="Not a directory"):
        history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}), tmp_path / "history")


def test_where_the_history_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path))
    monkeypatch.delenv("NEARFAR_HISTORY", raising=False)
    assert history.directory() == tmp_path / "reports" / "history"
    monkeypatch.setenv("NEARFAR_HISTORY", "/srv/nearfar")
    assert history.directory() == Path("/srv/nearfar")


def test_a_board_serial_number_goes_from_the_driver_to_the_row(tmp_path: Path) -> None:
    driver = nvml.read_driver(nvml=FakeNvml([FakeGpu("0000:01:00.0", serial="1654321")]))
    assert driver.gpus["0000:01:00.0"].serial == "1654321"
    node = Node("n", (Package(0, (0,)),), (NumaNode(0, 0, (0,), 1),), (Gpu(0, "0000:01:00.0", serial="1654321"),))
    assert node_from_document(node_to_document(node)).gpus[0].serial == "1654321"
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0})
    observed = json.loads((run / "gpu001/node.json").read_text())
    observed["gpus"][2]["serial"] = "1654321"
    (run / "gpu001/node.json").write_text(json.dumps(observed))
    found = rows(history.record(run, tmp_path / "history"))
    assert found.filter(pl.col("gpu_serial").is_not_null())["gpus"].unique().to_list() == ["2"]


def test_what_is_intermittent_is_counted(tmp_path: Path) -> None:
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0})
    path = next(run.glob("*/*/verdict.json"))
    raw = json.loads(path.read_text())
    seen = [{"value": value, "time": raw["time"]} for value in (31.0, 55.0, 55.1)]
    raw["metrics"][0].update(verdict="DEGRADED", looks=[{**look, "beyond": look["value"] < 40} for look in seen])
    path.write_text(json.dumps(raw))
    history.record(run, tmp_path / "history")
    kept = History(tmp_path / "history", lambda _: None)
    (found,) = series.from_rows(kept.rows(RowFilter(metric=raw["metrics"][0]["name"]), series.COLUMNS))
    assert (found.intermittent, found.points[0].words) == (1, "DEGRADED intermittent")
    assert (
        ", intermittent in 1 of 1" in text.runs(found)[0] and "intermittent in 1 of 1" in text.table([found], None)[-1]
    )
    row = next(row for row in rows(tmp_path / "history").to_dicts() if row["metric"] == found.metric)
    assert (row["looks"], row["intermittent"]) == (3, True)
