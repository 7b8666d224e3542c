"""``nearfar history`` as a user types it."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli, history
from nearfar.commands import history as history_command
from nearfar.history import series
from tests.data.runs import nightly

NODES = {"gpu001": 1.0, "gpu002": 0.9, "gpu003": 1.01}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    for day in range(1, 8):
        run = nightly.run(folder / "reports", NODES, f"2026-11-{day:02}")
        history.record(run, folder / "history")
    return folder / "history"


@pytest.fixture
def ask(kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("NEARFAR_HISTORY", str(kept))

    def run(*words: str) -> tuple[int, list[str], str]:
        code = cli.main(["history", *words])
        said = capsys.readouterr()
        return code, said.out.splitlines(), said.err

    return run


def test_across_nodes_the_worst_is_first(ask: Any) -> None:
    code, lines, _ = ask("--metric", "sole.n0_g0")
    assert code == 0
    assert lines[0] == "sole.n0_g0, host_device_check, GB/s: 2026-11-01 to 2026-11-07, the worst first"
    assert [line.split()[:3] for line in lines[2:]] == [
        ["gpu002", "7", "49.9"], ["gpu001", "7", "55.5"], ["gpu003", "7", "56.0"],
    ]  # fmt: skip


def test_of_a_node_run_by_run(ask: Any) -> None:
    code, lines, _ = ask("--node", "gpu002", "--metric", "sole.n0_g0", "--since", "2026-11-03")
    assert code == 0 and "median 49.9" in lines[0] and "5 runs" in lines[0]
    assert lines[2].split()[:3] == ["2026-11-03", "02:00", "49.9"] and "PASS" in lines[2], "above half of its link"


def test_a_row_of_references_stands_for_its_figures(ask: Any) -> None:
    _, lines, _ = ask("--metric", "sole.h2d", "--node", "gpu001")
    assert [line.split()[0] for line in lines[2:]] == ["sole.n0_g2", "sole.n0_g1", "sole.n0_g0", "sole.n0_g3"]


def test_without_a_name_it_says_what_there_is(ask: Any) -> None:
    code, lines, _ = ask()
    assert code == 0 and lines[0].startswith("redwood: 420 figures of 3 nodes")
    assert lines[2].split()[:3] == ["gpu001", "7", "20"]


def test_json_has_every_run(ask: Any) -> None:
    _, lines, _ = ask("--metric", "sole.n0_g0", "--node", "gpu002", "--json")
    told = json.loads("\n".join(lines))
    (one,) = told["series"]
    assert (told["schema"], one["n"], len(one["points"])) == ("nearfar-history/1", 7, 7)
    assert one["points"][0]["started"] == "2026-11-01T02:00:00Z"


@pytest.mark.parametrize(
    "words, code, said",
    [
        (("--metric", "sole.n0_g00"), 2, "no figure of that name (did you mean 'sole.n0_g0'?)"),
        (("--node", "gpu01"), 2, "no history of it (did you mean 'gpu001'?)"),
        (("--system", "redwod"), 2, "no history of it (did you mean 'redwood'?)"),
        (("--check", "host_devise_check"), 2, "did you mean 'host_device_check'?"),
        (("--check", "host_devise_check", "--metric", "sole.h2d"), 2, "did you mean 'host_device_check'?"),
        (
            ("--metric", "sole.h2d", "--since", "2026-11-20"),
            3,
            "no run since 2026-11-20 00:00; the last was 2026-11-07",
        ),
        (("--since", "yesterday"), 2, "a day such as"),
        (("--record", "/nowhere"), 2, "no run directory"),
    ],
)
def test_wrong_names_are_told(ask: Any, words: tuple[str, ...], code: int, said: str) -> None:
    found, lines, error = ask(*words)
    assert (found, lines) == (code, []) and said in error and len(error.splitlines()) == 1, error


def test_an_empty_history_says_how_it_fills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "none"))
    assert cli.main(["history"]) == 3
    assert "no history yet; every run of nearfar validate is kept there" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("history",), ("tune", "--system", "h200-vm")], ids=lambda words: words[0])
def test_a_file_is_no_place_for_a_history(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").write_text("no history\n")
    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "notes"))
    assert cli.main(list(words)) == 2
    told = f"nearfar: {tmp_path / 'notes'}: a file is no place for a history; set NEARFAR_HISTORY to a directory\n"
    assert capsys.readouterr().err == told


def test_a_figure_that_only_other_nodes_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "history"))
    history.record(nightly.run(tmp_path / "a", {"gpu001": 1.0}), tmp_path / "history")
    checks = ("host_memory_check",)
    history.record(nightly.run(tmp_path / "b", {"gpu002": 1.0}, checks=checks), tmp_path / "history")
    assert cli.main(["history", "--node", "gpu002", "--metric", "sole.n0_g0"]) == 3
    assert capsys.readouterr().err == "nearfar: no such figure of gpu002; other nodes have it\n"


def test_runs_to_record_may_be_a_pattern_and_what_is_left_out_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "history"))
    for day in (1, 2):
        run = nightly.run(tmp_path / "reports", {"gpu001": 1.0}, f"2026-11-0{day}")
    assert cli.main(["history", "--record", str(tmp_path / "reports" / "*")]) == 0
    assert capsys.readouterr().out.startswith("2 runs kept in ")
    next(run.glob("*/*/verdict.json")).write_text("{")
    assert cli.main(["history", "--record", str(run)]) == 3
    told = capsys.readouterr()
    assert "but for what was left out" in told.out and "left out: " in told.err


def test_several_systems_have_to_be_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "history"))
    for system in ("redwood", "spruce"):
        run = nightly.run(tmp_path / system, {"gpu001": 1.0}, system=system)
        assert cli.main(["history", "--record", str(run)]) == 0
    capsys.readouterr()
    assert cli.main(["history"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"2 systems in {tmp_path / 'history'}; --system NAME shows one's nodes"
    assert [line.split()[:3] for line in lines[2:]] == [["redwood", "1", "1"], ["spruce", "1", "1"]]
    assert [line.split("  ")[-1] for line in lines[2:]] == ["0 of 12 (8 not judged)"] * 2
    assert cli.main(["history", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["systems"]
    assert [(each["system"], each["nodes"], each["judged"], each["figures"]) for each in told] == [
        ("redwood", 1, 12, 20),
        ("spruce", 1, 12, 20),
    ]
    assert cli.main(["history", "--node", "gpu001"]) == 2
    assert "which one? There is history of redwood, spruce" in capsys.readouterr().err
    assert cli.main(["history", "--check", "host_devise_check"]) == 2
    assert "did you mean 'host_device_check'?" in capsys.readouterr().err
    assert cli.main(["history", "--since", "2030-01-01"]) == 3
    assert "no run since 2030-01-01 00:00; the last was" in capsys.readouterr().err


def test_a_node_of_which_nothing_was_judged_failed_nothing() -> None:
    day = datetime(2026, 11, 1, tzinfo=timezone.utc)
    row = {"first": day, "last": day, "fails": 0, "judged": 0, "figures": 10}
    assert history_command._how_much(row)[-1] == "not judged"


def test_a_renamed_metric_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "history"))
    history.record(nightly.run(tmp_path / "a", {"gpu001": 1.0}, "2026-11-01"), tmp_path / "history")
    later = nightly.run(tmp_path / "b", {"gpu001": 1.0}, "2026-11-02")
    path = later / "gpu001/host_device_check/verdict.json"
    path.write_text(path.read_text().replace("sole.n0_g0", "near.n0_g0"))
    history.record(later, tmp_path / "history")
    assert cli.main(["history", "--metric", "sole.n0_g0"]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith("note: sole.n0_g0 was last measured on 2026-11-01; host_device_check has run since"), said


def test_disturbed_points_have_a_mark_and_a_legend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def busy(raw: dict[str, Any]) -> None:
        raw["machine"] = {"mean": {"others": 30.0, "own": 0.5}}

    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "history"))
    for day, factor, change in (("2026-11-01", 1.0, None), ("2026-11-02", 0.4, busy)):
        run = nightly.run(tmp_path / day, {"gpu001": factor}, day, change=change)
        history.record(run, tmp_path / "history")
    legend = "* disturbed: other processes used the CPUs"
    assert cli.main(["history", "--node", "gpu001", "--metric", "sole.n0_g0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " * " not in lines[2] and "INDETERMINATE *" in lines[3] and lines[4] == legend, lines
    assert cli.main(["history", "--node", "gpu001"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == legend and any("INDETERMINATE *" in line for line in lines), lines
    assert cli.main(["history", "--node", "gpu001", "--metric", "sole.n0_g0", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["series"][0]["points"]
    assert [point["disturbance"] for point in points] == [None, "cpus"]


def test_sparklines() -> None:
    assert series.sparkline([1, 2, 3], 1, 3) == "▁▅█"
    assert series.sparkline([5, 5], 5, 5) == "▄▄"
    assert len(series.sparkline(list(range(365)), 0, 364, 30)) == 30


def test_the_interval_of_fewer_than_six_runs_is_their_extremes() -> None:
    moment = datetime(2026, 11, 20, tzinfo=timezone.utc)
    points = tuple(series.Point(moment, "", value, None, None, "PASS", 0) for value in (3.0, 1.0, 2.0))
    assert series.Series("n1", "host_device_check", "near.n0_g0", "GB/s", points).interval == (1, 3)


def test_a_persons_word_begins_a_past_anew(ask: Any, kept: Path) -> None:
    code, lines, _ = ask("--node", "gpu003.cluster", "--anew")
    assert (code, lines) == (
        0,
        ["gpu003: what it measures from now on is compared with nothing that it measured before"],
    )
    assert (kept / "rows-1/system=redwood/baselines/gpu003.anew").read_text() == "7\n"
    code, _, said = ask("--anew")
    assert code == 2 and "--anew: name the node: --node NAME" in said
    code, _, said = ask("--node", "gpu004", "--anew")
    assert code == 2 and "no history of it" in said
