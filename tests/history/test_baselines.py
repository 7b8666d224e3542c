"""The node's own past out of the history: which runs it is made of, and which it must not be."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from nearfar import history
from nearfar.base.errors import CouldNotJudge
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.verdict import verdict_file
from nearfar.verdict.baseline import Baseline
from tests.data.runs import nightly

NOW = datetime(2026, 11, 20, tzinfo=timezone.utc)
NIGHTS = [f"2026-11-{day:02}" for day in range(10, 16)]
FIGURE = "sole.n0_g2"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Six nights of two nodes."""
    for night, day in enumerate(NIGHTS):
        run = nightly.run(tmp_path / "reports", {"gpu001": 1 + night / 1000, "gpu002": 0.5}, day)
        history.record(run, tmp_path / "history")
    return tmp_path / "history"


def past_of(kept: Path, *how: Any, **more: Any) -> dict[str, Baseline]:
    """What the history says, where all of it can be read."""
    past, left_out = asked(kept, *how, **more)
    assert left_out is None
    return past


def asked(
    kept: Path, change: nightly.Change | None = None, bend: Callable[[dict[str, Any]], None] = lambda verdict: None
) -> tuple[dict[str, Baseline], str | None]:
    """What the history says to a run of gpu001 whose document is changed so, and its verdict bent so; and what was left
    out."""
    run = nightly.run(kept.parent / "now", {"gpu001": 1.0}, "2026-11-19", change=change)
    path = run / "gpu001/host_device_check/verdict.json"
    raw = json.loads(path.read_text())
    bend(raw)
    own = history.OwnPast(kept, NOW)
    return own.of(verdict_file.from_raw(raw, path), {}), own.left_out()


def with_a_slow_host(path: Path) -> None:
    raw = json.loads(path.read_text())
    for metric in raw["metrics"][:2]:
        metric.update({"verdict": "INDETERMINATE", "reason": "slow", "disturbance": "host"})
    path.write_text(json.dumps({**raw, "verdict": "INDETERMINATE"}))


@pytest.mark.parametrize("slow, told", [([], False), (["2026-11-15"], False), (["2026-11-13", "2026-11-15"], True)])
def test_a_host_that_is_slow_again_and_again_is_told_of(tmp_path: Path, slow: list[str], told: bool) -> None:
    verdict = "gpu001/host_device_check/verdict.json"
    for day in NIGHTS:
        run = nightly.run(tmp_path / "reports", {"gpu001": 1.0}, day)
        if day in slow:
            with_a_slow_host(run / verdict)
        history.record(run, tmp_path / "history")
    path = nightly.run(tmp_path / "now", {"gpu001": 1.0}, "2026-11-20") / verdict
    own = history.OwnPast(tmp_path / "history", NOW)
    assert own.of_host(verdict_file.from_raw(json.loads(path.read_text()), path)) == [], "it is not slow now"
    with_a_slow_host(path)
    found = own.of_host(verdict_file.from_raw(json.loads(path.read_text()), path))
    assert bool(found) is told
    if told:
        assert (found[0].item, found[0].verdict, found[0].hard) == ("host", "DEGRADED", False)
        assert "slow on 3 of the last 5 days with runs" in found[0].reason


def test_a_node_has_its_own_past_alone(kept: Path) -> None:
    found = past_of(kept)
    assert len(found) > 10
    low, high = found[FIGURE].values[0], found[FIGURE].values[-1]
    assert (len(found[FIGURE].values), found[FIGURE].since) == (6, "2026-11-10")
    assert high / low == pytest.approx(1.005), "the earliest first, none of the other node"


def test_what_cannot_be_is_no_past_whatever_passed_it(kept: Path) -> None:
    """An earlier judge passed a thousandfold: beside it every good night would be worse."""
    before = past_of(kept)
    for night in range(16, 18):
        run = nightly.run(kept.parent / "reports", {"gpu001": 1000.0}, f"2026-11-{night}")
        path = run / "gpu001/host_device_check/verdict.json"
        judged = json.loads(path.read_text())
        for metric in judged["metrics"]:
            metric["verdict"] = "PASS"
        path.write_text(json.dumps({**judged, "verdict": "PASS"}))
        history.record(run, kept)
    after = past_of(kept)
    assert after[FIGURE] == before[FIGURE]


def test_figures_without_a_reference_are_a_past_too(tmp_path: Path) -> None:
    """Nothing was held against them, and nothing is wrong with them."""
    for day in NIGHTS:
        run = nightly.run(tmp_path / "reports", {"gpu001": 1.0}, day)
        path = run / "gpu001/host_device_check/verdict.json"
        verdict = json.loads(path.read_text())
        verdict["verdict"] = NOT_JUDGED
        verdict["metrics"] = [{**m, "reference": None, "verdict": NOT_JUDGED} for m in verdict["metrics"]]
        path.write_text(json.dumps(verdict))
        history.record(run, tmp_path / "history")
    assert len(past_of(tmp_path / "history")[FIGURE].values) == 6


def stamped(**software: str) -> nightly.Change:
    return lambda raw: raw["node"]["software"].update(software)


def other_board(raw: dict[str, Any]) -> None:
    raw["node"]["gpus"][2]["uuid"] = "GPU-new"


def unknown_board(raw: dict[str, Any]) -> None:
    for gpu in raw["node"]["gpus"]:
        gpu.pop("uuid", None)
        gpu.pop("serial", None)


@pytest.mark.parametrize(
    "change, compared",
    [
        (stamped(driver="999.1"), False),
        (stamped(cuda="99.0"), False),
        (lambda raw: raw["program"].update(version="99"), False),
        (lambda raw: raw["program"].update(quick=True), False),
        (lambda raw: raw.update(aggressor=["n0:g0"]), False),
        (other_board, False),
        (unknown_board, False),
        (stamped(kernel="99"), True),
    ],
)
def test_like_is_compared_with_like(kept: Path, change: nightly.Change, compared: bool) -> None:
    assert (FIGURE in past_of(kept, change)) == compared


def test_another_board_has_no_past_and_the_others_keep_theirs(kept: Path) -> None:
    found = past_of(kept, other_board)
    assert FIGURE not in found and "sole.n0_g1" in found


@pytest.mark.parametrize("key, value", [("node", "gpu777"), ("system", "other"), ("check", "other_check")])
def test_of_another_node_system_or_check_nothing_is_said(kept: Path, key: str, value: str) -> None:
    assert past_of(kept, bend=lambda verdict: verdict.update({key: value})) == {}


def test_what_was_no_healthy_figure_is_no_past(tmp_path: Path) -> None:
    def unverified(raw: dict[str, Any]) -> None:
        for result in raw["results"]:
            result["verified"] = False

    def hot(raw: dict[str, Any]) -> None:
        raw["gpus_under_load"] = [{"index": 2, "throttle": ["hw_thermal"]}]

    def busy(raw: dict[str, Any]) -> None:
        raw["machine"] = {"mean": {"others": 30.0, "own": 0.5}}

    kept = tmp_path / "history"
    history.record(nightly.run(tmp_path / "reports", {"gpu001": 0.3}, "2026-11-10"), kept)  # fails
    history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}, "2026-11-11", change=unverified), kept)
    history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}, "2026-11-12", change=hot), kept)
    history.record(
        nightly.run(tmp_path / "reports", {"gpu001": 1.0}, "2026-11-12", change=busy, at="04:00:00"), kept
    )  # passes
    history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}, "2026-11-13"), kept)
    history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}, "2026-06-01"), kept)  # long ago
    assert (past_of(kept)[FIGURE].since, len(past_of(kept)[FIGURE].values)) == ("2026-11-13", 1)


def test_of_many_runs_the_newest_count(tmp_path: Path) -> None:
    for day in range(1, 29):
        history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}, f"2026-10-{day:02}"), tmp_path / "history")
    for day in NIGHTS:
        history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}, day), tmp_path / "history")
    found = past_of(tmp_path / "history")[FIGURE]
    assert (len(found.values), found.since) == (30, "2026-10-05")
    history.compact(history.History(tmp_path / "history", lambda words: None))
    assert past_of(tmp_path / "history")[FIGURE] == found


def test_no_history_is_no_past(tmp_path: Path) -> None:
    assert past_of(tmp_path / "history") == {}


def test_a_history_that_cannot_be_read_says_so(kept: Path) -> None:
    (kept / "rows-1").rename(kept / "aside")
    (kept / "rows-1").write_text("no directory")
    with pytest.raises(CouldNotJudge, match="rows-1: the history cannot be read"):
        past_of(kept)


def test_half_a_file_is_left_out_and_told(kept: Path) -> None:
    file = min(kept.rglob("gpu001.*.parquet"))
    file.write_bytes(file.read_bytes()[:500])
    past, left_out = asked(kept)
    assert len(past[FIGURE].values) == 5
    assert left_out == f"left out: {file}: not a whole Parquet file"
