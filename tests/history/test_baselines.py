"""The node's own past out of the history: which runs it is made of, and which it must not be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from nearfar import history, measurement, verdict
from nearfar.base import NearfarError
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.history import node_rows, rows
from nearfar.measurement.document import from_raw
from nearfar.verdict import verdict_file
from nearfar.verdict.baseline import Baseline
from nearfar.verdict.document_findings import CaseInfo
from tests.data.runs import golden, nightly

NOW = datetime(2026, 11, 20, tzinfo=timezone.utc)
NIGHTS = [f"2026-11-{day:02}" for day in range(10, 16)]
NINE = [f"2026-11-{day:02}" for day in range(7, 16)]
FIGURE = "sole.n0_g2"


@pytest.fixture(scope="module")
def six_nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two nodes."""
    place = tmp_path_factory.mktemp("six")
    for night, day in enumerate(NIGHTS):
        run = nightly.run(place / "reports", {"gpu001": 1 + night / 1000, "gpu002": 0.5}, day)
        history.record(run, place / "history")
    return place / "history"


@pytest.fixture
def kept(six_nights: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(six_nights, tmp_path / "history"))


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
    own = history.NodeHistory(kept, NOW)
    return own.of(verdict_file.from_raw(raw, path), {}), own.left_out()


def with_a_slow_host(path: Path) -> None:
    raw = json.loads(path.read_text())
    for metric in raw["metrics"][:2]:
        metric.update({"verdict": "INDETERMINATE", "reason": "slow", "disturbance": "host"})
    path.write_text(json.dumps({**raw, "verdict": "INDETERMINATE"}))


@pytest.mark.parametrize(
    "slow, host, code, fields",
    [
        ([], "own", None, {}),
        (["2026-11-15"], "own", None, {}),
        (NIGHTS[3::2], "own", "host.slow", {"slow_days": 3, "days": 5}),
        (NIGHTS, "shared", "host.slow", {"slow_days": 5, "days": 5}),
        (NINE, "own", "host.stays_slow", {"days": 10}),
    ],
)
def test_a_host_that_is_slow_again_and_again_is_told_of(
    tmp_path: Path, slow: list[str], host: str, code: str | None, fields: dict[str, int]
) -> None:
    verdict = "gpu001/host_device_check/verdict.json"
    for day in NINE:
        run = nightly.run(tmp_path / "reports", {"gpu001": 1.0}, day)
        if day in slow:
            with_a_slow_host(run / verdict)
        history.record(run, tmp_path / "history")
    path = nightly.run(tmp_path / "now", {"gpu001": 1.0}, "2026-11-20") / verdict
    own = history.NodeHistory(tmp_path / "history", NOW)
    assert own.of_host(verdict_file.from_raw(json.loads(path.read_text()), path), host) == [], "it is not slow now"
    with_a_slow_host(path)
    found = own.of_host(verdict_file.from_raw(json.loads(path.read_text()), path), host)
    assert [(each.code, each.subject, each.fields, each.hard) for each in found] == [
        (code, "host", fields, False)
    ] * bool(code)


def test_a_node_has_its_own_past_alone(kept: Path) -> None:
    found = past_of(kept)
    assert len(found) > 10
    low, high = found[FIGURE].values[0], found[FIGURE].values[-1]
    assert (len(found[FIGURE].values), found[FIGURE].since) == (6, "2026-11-10")
    assert high / low == pytest.approx(1.005), "the earliest first, none of the other node"


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
        (stamped(driver="999.1"), True),
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
    history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}, "2025-06-01"), kept)  # long ago
    assert (past_of(kept)[FIGURE].since, len(past_of(kept)[FIGURE].values)) == ("2026-11-13", 1)


def of_nights(
    place: Path, first: date, factors: Sequence[float], change: Callable[[pl.Expr], dict[str, pl.Expr]] | None = None
) -> Path:
    """A history of gpu001: one run on each night from ``first`` on, every rate times its factor; ``change`` gives other columns by the
    number of the night. What is there already stays."""
    before = len(list(place.rglob("*.parquet")))
    run = nightly.run(place.parent / "template", {"gpu001": 1.0}, first.isoformat())
    kept = history.record(run, place.parent / f"one{before}")
    one = pl.read_parquet(next(kept.rglob("*.parquet")))
    night = pl.col("night")
    named = pl.DataFrame({"night": range(len(factors)), "factor": [float(each) for each in factors]})
    made = one.join(named, how="cross").with_columns(
        started=pl.col("started") + pl.duration(days=night), recorded=pl.col("started") + pl.duration(days=night, minutes=2),
        value=pl.col("value") * pl.col("factor"), sequence=night.cast(pl.Int64) + 1 + 1000 * before,
        source=pl.col("source") + night.cast(pl.String) + f"of{before}",
    )  # fmt: skip
    made = made.with_columns(**change(night)) if change is not None else made
    for month, own in made.group_by(pl.col("started").dt.strftime("%Y-%m")):
        folder = place / "rows-1/system=redwood" / f"month={month[0]}"
        folder.mkdir(parents=True, exist_ok=True)
        own.select(one.columns).write_parquet(folder / f"gpu001.{before}.parquet")
    return place


def keep(place: Path, now: datetime = NOW) -> Path:
    """Keep the baselines of gpu001; returns their file."""
    node_rows.keep(history.History(place, lambda words: None), "redwood", "gpu001", now)
    return place / "rows-1/system=redwood/baselines/gpu001"


def test_the_first_nights_are_the_baseline_and_the_rest_is_watched(tmp_path: Path) -> None:
    kept = of_nights(tmp_path / "history", date(2026, 10, 1), [1 + night / 1e4 for night in range(40)])
    found = past_of(kept)[FIGURE]
    assert (len(found.values), found.since, len(found.later)) == (28, "2026-10-01", 12)
    assert [night.day for night in found.later][::11] == ["2026-10-29", "2026-11-09"]
    assert found.later[0].value / found.values[0] == pytest.approx(1.0028)
    history.compact(history.History(kept, lambda words: None))
    assert past_of(kept)[FIGURE] == found
    keep(kept)
    assert past_of(kept)[FIGURE] == found


def test_runs_of_one_day_count_once_and_those_of_today_not(tmp_path: Path) -> None:
    kept = tmp_path / "history"
    for hour, factor in ((2, 1.0), (3, 0.99), (4, 0.98)):
        for day in ("2026-11-18", "2026-11-20"):
            history.record(nightly.run(tmp_path / "reports", {"gpu001": factor}, day, at=f"{hour:02}:00:00"), kept)
    found = past_of(kept)[FIGURE]
    assert (len(found.values), found.since) == (1, "2026-11-18")
    assert found.values[0] == pytest.approx(
        0.99 * past_of(of_nights(tmp_path / "b/h", date(2026, 11, 1), [1.0]))[FIGURE].values[0]
    )


def test_a_baseline_outlives_its_age(tmp_path: Path) -> None:
    """Its nights are half a year old, and the rows of them may be gone."""
    kept = of_nights(tmp_path / "history", date(2026, 4, 1), [1.0] * 40)
    keep(kept, datetime(2026, 5, 20, tzinfo=timezone.utc))
    of_nights(kept, date(2026, 11, 1), [0.99] * 15)
    found = past_of(kept)[FIGURE]
    assert (len(found.values), found.since, len(found.later)) == (28, "2026-04-01", 15)
    for month in (kept / "rows-1/system=redwood").glob("month=2026-0*"):
        shutil.rmtree(month)
    assert past_of(kept)[FIGURE] == found
    keep(kept).unlink()
    assert past_of(kept)[FIGURE].since == "2026-11-01"


@pytest.mark.parametrize("content", [b"", b"half a file", b"PAR1 nothing PAR1", "newer"])
def test_a_file_of_baselines_that_cannot_be_read_is_made_anew(tmp_path: Path, content: bytes | str) -> None:
    kept = of_nights(tmp_path / "history", date(2026, 4, 1), [1.0] * 30)
    file = keep(kept)
    good = past_of(kept)[FIGURE]
    if isinstance(content, str):
        pl.DataFrame({"another": ["version"]}).write_parquet(file)
    else:
        file.write_bytes(content)
    assert past_of(kept)[FIGURE] == good
    keep(kept)
    for month in (kept / "rows-1/system=redwood").glob("month=*"):
        shutil.rmtree(month)
    assert past_of(kept)[FIGURE] == good, "it was written anew"


def test_another_users_baselines_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = of_nights(tmp_path / "history", date(2026, 11, 1), [1.0] * 10)
    keep(kept)
    shutil.rmtree(next((kept / "rows-1/system=redwood").glob("month=*")))
    assert len(past_of(kept)[FIGURE].values) == 10
    monkeypatch.setattr(node_rows, "trusted", lambda place: frozenset())
    assert past_of(kept) == {}


def test_what_drifted_counts_on_and_never_enters_the_baseline(tmp_path: Path) -> None:
    def drifted(night: pl.Expr) -> dict[str, pl.Expr]:
        late = night >= 20
        return {
            "verdict": pl.when(late).then(pl.lit("DEGRADED")).otherwise("verdict"),
            "worse": pl.when(late).then(pl.lit("drift")),
        }

    kept = of_nights(tmp_path / "history", date(2026, 10, 1), [1.0] * 20 + [0.9] * 20, drifted)
    assert len(past_of(kept)[FIGURE].values) == 20
    keep(kept)
    assert len(past_of(kept)[FIGURE].values) == 20

    def later(night: pl.Expr) -> dict[str, pl.Expr]:
        late = night >= 30
        return {
            "verdict": pl.when(late).then(pl.lit("DEGRADED")).otherwise("verdict"),
            "worse": pl.when(late).then(pl.lit("drift")),
        }

    kept = of_nights(tmp_path / "other/history", date(2026, 10, 1), [1.0] * 30 + [0.98] * 10, later)
    found = past_of(kept)[FIGURE]
    assert (len(found.values), len(found.later), min(found.values) == max(found.values)) == (28, 12, True)
    assert [night.healthy for night in found.later] == [True] * 2 + [False] * 10


def test_what_a_reference_called_degraded_is_no_past(tmp_path: Path) -> None:
    kept = of_nights(tmp_path / "history", date(2026, 11, 1), [1.0] * 10, lambda night: {"verdict": pl.lit("DEGRADED")})
    assert past_of(kept) == {}


def test_a_run_from_the_future_is_no_night(tmp_path: Path) -> None:
    kept = of_nights(tmp_path / "history", date(2026, 11, 1), [1.0] * 10)
    of_nights(kept, date(2099, 1, 1), [1.0])
    assert len(past_of(kept)[FIGURE].values) == 10
    keep(kept)
    assert len(past_of(kept)[FIGURE].values) == 10


def test_a_clock_that_was_set_back_reorders_nothing(tmp_path: Path) -> None:
    kept = of_nights(tmp_path / "history", date(2026, 10, 10), [1.0] * 30)
    of_nights(kept, date(2026, 9, 20), [0.9] * 5)
    found = past_of(kept)[FIGURE]
    assert (found.since, len(found.later), found.later[-1].day) == ("2026-10-10", 7, "2026-09-24")


def test_a_renamed_check_has_no_past_and_is_no_error(tmp_path: Path) -> None:
    kept = of_nights(
        tmp_path / "history", date(2026, 11, 1), [1.0] * 10, lambda night: {"check": pl.lit("earlier_name")}
    )
    assert past_of(kept) == {}
    keep(kept)
    assert past_of(kept) == {}


def test_boards_that_changed_places_take_no_past_with_them(tmp_path: Path) -> None:
    kept = of_nights(tmp_path / "history", date(2026, 11, 1), [1.0] * 10)

    def swapped(raw: dict[str, Any]) -> None:
        first, second = raw["node"]["gpus"][:2]
        first["uuid"], second["uuid"] = second["uuid"], first["uuid"]

    found = past_of(kept, swapped)
    assert FIGURE in found and not {"sole.n0_g0", "sole.n0_g1"} & found.keys()


def test_a_past_begins_anew_on_a_persons_word(tmp_path: Path) -> None:
    kept = of_nights(tmp_path / "history", date(2026, 10, 1), [1.0] * 30)
    keep(kept)
    history.begin_anew(history.History(kept, lambda words: None), "redwood", "gpu001")
    assert past_of(kept) == {}
    of_nights(kept, date(2026, 11, 5), [0.9] * 6)
    assert (len(past_of(kept)[FIGURE].values), past_of(kept)[FIGURE].since) == (6, "2026-11-05")
    keep(kept)
    assert past_of(kept)[FIGURE].since == "2026-11-05"


@pytest.fixture
def upgraded(tmp_path: Path) -> Path:
    """Thirty nights before a driver that costs 1.5 %, and ten with it."""
    kept = of_nights(tmp_path / "history", date(2026, 10, 1), [1.0] * 30)
    return of_nights(kept, date(2026, 11, 1), [0.985] * 10, lambda night: {"driver": pl.lit("590.1")})


def test_nights_with_other_software_are_kept_apart(upgraded: Path) -> None:
    found = past_of(upgraded, stamped(driver="590.1"))[FIGURE]
    assert (len(found.values), found.since, len(found.later)) == (28, "2026-10-01", 12)
    assert found.changed == "driver 580.159.04 -> 590.1" and found.anew is not None
    assert (len(found.anew.values), found.anew.since, found.anew.later) == (10, "2026-11-01", ())
    again = past_of(upgraded, stamped(driver="600.1"))[FIGURE]
    assert (again.changed, again.anew) == ("driver 590.1 -> 600.1", None), "nothing was measured with it before"


def test_no_history_is_no_past(tmp_path: Path) -> None:
    assert past_of(tmp_path / "history") == {}


def test_a_history_that_cannot_be_read_says_so(kept: Path) -> None:
    (kept / "rows-1").rename(kept / "aside")
    (kept / "rows-1").write_text("no directory")
    with pytest.raises(NearfarError, match="a file is no place for a history"):
        past_of(kept)


def test_half_a_file_is_left_out_and_told(kept: Path) -> None:
    file = min(kept.rglob("gpu001.*.parquet"))
    file.write_bytes(file.read_bytes()[:500])
    keep(kept).unlink()
    past, left_out = asked(kept)
    assert len(past[FIGURE].values) == 5
    assert left_out == f"left out: {file}: not a whole Parquet file"


def judged_after(kept: Path, change: nightly.Change) -> verdict.Verdict:
    """A run of the node, changed so."""
    raw = golden.raw("host_device_check", {})
    nightly._rename(raw, "gpu001", "2026-11-19T02:00:00Z", 1.0)
    change(raw)
    document = from_raw(raw)
    metrics = measurement.metrics(document, document.node)
    subject = CaseInfo("host_device_check", "redwood", "gpu", "system", "gpu001", "2026-11-19T02:00:00Z")
    return verdict.judge(document, {}, past_of(kept, change), subject=subject, metrics=metrics)


def test_a_drift_out_of_the_history_is_degraded_and_counts_on(tmp_path: Path) -> None:
    """From the rows of nights to the verdict of a run, into its rows, and back."""

    def drift(night: pl.Expr) -> dict[str, pl.Expr]:
        slow = pl.col("value") * (1 - (night - 28).clip(0) * 0.001)
        return {"value": pl.when(pl.col("gpus") == "2").then(slow).otherwise(pl.col("value"))}

    judged = judged_after(
        of_nights(tmp_path / "history", date(2026, 9, 20), [1.0] * 58, drift), nightly.slow_gpu(2, 0.97)
    )
    figure = next(each for each in judged.metrics if each.name == FIGURE)
    assert judged.verdict == figure.verdict == "DEGRADED"
    assert figure.baseline is not None and (figure.baseline.n, figure.baseline.worse) == (28, "drift")
    assert "drifted from 55.5 GB/s (28 nights from 2026-09-20 on), 2.8 % less, since about 2026-10-1" in str(
        figure.reason
    )
    assert "0.7 % a week" in str(figure.reason)
    read = verdict_file.from_raw(json.loads(verdict_file.dump(judged)), tmp_path)
    assert next(each for each in read.metrics if each.name == FIGURE).baseline == figure.baseline
    found = rows.figure_rows(judged, {})
    assert {row["worse"] for row in found if row["metric"] == FIGURE} == {"drift"}


def test_a_long_drift_of_all_paths_is_told(tmp_path: Path) -> None:
    """Two per cent of it are nobody's; what is more is told of each path."""
    factors = [1 - max(0, night - 28) * 0.001 for night in range(58)]
    kept = of_nights(tmp_path / "history", date(2026, 9, 20), factors)

    def all_slow(raw: dict[str, Any]) -> None:
        for gpu in raw["node"]["gpus"]:
            nightly.slow_gpu(gpu["index"], 0.97)(raw)

    judged = judged_after(kept, all_slow)
    assert judged.verdict == "DEGRADED"
    (figure,) = [each for each in judged.metrics if each.name == FIGURE]
    assert figure.code == "figure.worse_than_history" and "other figures of this kind are 2.0 % worse as well" in str(
        figure.reason
    )


def test_a_new_driver_that_slows_all_paths_blames_none(upgraded: Path) -> None:
    def slower(raw: dict[str, Any]) -> None:
        stamped(driver="590.1")(raw)
        for gpu in raw["node"]["gpus"]:
            nightly.slow_gpu(gpu["index"], 0.985)(raw)

    judged = judged_after(upgraded, slower)
    assert judged.verdict == NOT_JUDGED
    (past,) = [each.baseline for each in judged.metrics if each.name == FIGURE]
    assert past is not None and past.note is not None
    assert past.note.endswith("are 1.5 % worse as well; driver 580.159.04 -> 590.1")
