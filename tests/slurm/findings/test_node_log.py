"""``nearfar slurm log``: what was done and seen, one line each, and what flaps."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.slurm.findings import ActLog
from nearfar.slurm.status import events, since
from tests.conftest import CHECKOUT
from tests.slurm.status.test_status import Fleet
from tests.support.fake_slurm import stamp
from tests.support.node_results import leave

NOW = 1e9


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    monkeypatch.delenv("SUDO_USER", raising=False)
    return Fleet(tmp_path, monkeypatch)


def told(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, str]]:
    """Node, what, and the rest of each line."""
    found = []
    for line in capsys.readouterr().out.splitlines():
        assert line[19] == "Z" and line[10] == "T", line
        found.append((line[22:32].strip(), line[33:50].strip(), line[51:]))
    return found


def test_the_days_of_a_node(fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Drained for a GPU, rebooted, cleared, released; drained again; resumed by somebody; drained by somebody."""
    leave(fleet.results, "n2", "00000102", at=fleet.now - 60, wrong="wrong data")
    fleet.run("act")
    state = fleet.slurm.node("n2")
    later = {**state.fields, "BootTime": stamp(time.time() + 5)}
    fleet.slurm.states["n2"] = replace(state, fields=later)
    fleet.run("act")
    fleet.run("act")
    monkeypatch.setenv("SUDO_USER", "alice")
    fleet.run("clear", "n2", "--because", "GPU 2 replaced")
    fleet.run("release", "n2", "--because", "the user needs it")
    monkeypatch.delenv("SUDO_USER")
    fleet.slurm.states["n2"] = replace(fleet.slurm.node("n2"), fields=state.fields)
    leave(fleet.results, "n2", "00000103", at=time.time(), wrong="wrong data")
    fleet.run("act")
    time.sleep(1.1)  # Slurm keeps whole seconds
    fleet.slurm.resume("n2")
    fleet.run("act")
    capsys.readouterr()
    assert fleet.run("log", "n2") == 0
    lines = told(capsys)
    drain = "nearfar: FAIL host_device g2:n0 cell.wrong_data run="
    assert [(what, words[13:].partition(": drained 2 times since ")[0]) for _, what, words in lines] == [
        ("found", "host_device_check: wrong data"), ("drained", f"{drain}00000102 · hard evidence stands at once"),
        ("rebooted", ""),
        ("cleared", "GPU 2 replaced"), ("released", f"the user needs it · {drain}00000102"),
        ("found", "host_device_check: wrong data"),
        ("drained", f"{drain}00000103 · hard evidence stands at once  FLAPS"),
        ("resumed by others", "seen in use, though act had drained it"),
    ]  # fmt: skip
    assert lines[3][2].startswith("root (alice) ") or os.geteuid(), "who typed it"
    assert lines[-1][2].startswith("somebody "), "Slurm does not say who"
    assert fleet.run("log", "n3") == 0 and "nothing of n3 since " in capsys.readouterr().out


def test_stops_of_drains_and_retests_and_what_was_not_done(tmp_path: Path) -> None:
    log = ActLog(tmp_path)
    reason = "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000001"
    begun = log.begin("drain", NOW, "n1", reason=reason, why="confirmed by run 00000000")
    log.end(begun, "refused", NOW + 1, error="its reason is not ours: 'mine'")
    log.begin("drain", NOW + 2, "n1", reason=reason, why="x")
    log.note("latch", NOW + 3, why="no more than 2 drained within a day")
    log.note("reset_latch", NOW + 4, why="go on")
    log.note("quarantine", NOW + 5, reservation="r1", nodes={"n1": {}})
    again = log.begin("retest", NOW + 6, "n1", reservation="r1")
    log.end(again, "done", NOW + 7)
    log.note("release", NOW + 8, "n1", reservation="r1")
    log.note("quarantine_end", NOW + 9, reservation="r1")
    log.note("of_a_later_version", NOW + 10, "n1", why="x")
    found = [(event.node, event.what, event.outcome, event.why) for event in events(log.entries())]
    assert found == [
        ("n1", "drained", "refused", f"{reason} · confirmed by run 00000000 (its reason is not ours: 'mine')"),
        ("n1", "drained", "begun", f"{reason} · x"), (None, "drains stopped", "done", "no more than 2 drained within a day"),
        (None, "drains allowed", "done", "go on"), ("n1", "retested", "done", "inside reservation r1"),
        ("n1", "released", "done", "it passed its retest"), ("n1", "of a later version", "done", "x"),
    ]  # fmt: skip
    assert [event.node for event in events(log.entries(), ["n1"], NOW + 7)] == ["n1", "n1"]
    lines = [event.line for event in events(log.entries())]
    assert "drained (not done)" in lines[0] and "drained (its end is not known)" in lines[1]


def test_only_what_was_in_use_meanwhile_and_soon_flaps(tmp_path: Path) -> None:
    log = ActLog(tmp_path)
    for node, action, at in (
        ("n1", "drain", 0), ("n1", "release", 100), ("n1", "drain", 200),  # flaps
        ("n2", "drain", 0), ("n2", "release", 100), ("n2", "drain", 200_000),  # days later
        ("n3", "drain", 0), ("n3", "retest", 100), ("n3", "drain_again", 200),  # never in use
        ("n4", "drain", 0), ("n4", "resumed_by_others", 100), ("n4", "drained_by_others", 300),
        ("n4", "resumed_by_others", 400), ("n4", "drain", 500),
    ):  # fmt: skip
        log.note(action, NOW + at, node, why="x")
    assert [(e.node, e.at - NOW) for e in events(log.entries()) if e.flap] == [("n1", 200), ("n4", 300), ("n4", 500)]


def test_what_flaps_is_the_policys_word(fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.state.mkdir()
    log, now = ActLog(fleet.state), time.time()
    for ago in (5000, 3000, 1000):
        log.note("drain", now - ago, "n2", reason="x")
        log.note("release", now - ago + 100, "n2", why="x")
    system = tmp_path / "site/systems/vm.yaml"
    text = system.read_text()
    for rule, marks in (
        ("{drains: 3, within: 1d}", 1),
        ("{drains: 2, within: 1h}", 2),
        ("{drains: 2, within: 30m}", 0),
    ):
        system.write_text(text.replace("act:\n", f"act:\n  flaps: {rule}\n"))
        assert fleet.run("log", "n2") == 0 and capsys.readouterr().out.count("FLAPS: drained ") == marks
    system.write_text("{")
    assert fleet.run("log", "n2") == 0, "the log is read whatever the site's files are like"
    assert capsys.readouterr().out.count("FLAPS: drained ") == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("24h", NOW - 86400), ("7d", NOW - 7 * 86400), ("2w", NOW - 14 * 86400), ("90m", NOW - 5400), ("all", 0.0),
        ("2001-09-01", 999302400.0), ("2001-09-01T12:00", 999345600.0), ("2001-09-01T12:00:00Z", 999345600.0),
    ],
)  # fmt: skip
def test_since(text: str, seconds: float) -> None:
    assert since(text, NOW) == seconds


@pytest.mark.parametrize("text", ["", "yesterday", "-1h", "1e9d", "2001-13-01", "9999999999d", "inf", "٣d"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(NearfarError, match="expected 24h, 7d, a date"):
        since(text, NOW)


def test_bad_places_and_lists(fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet.run("log") == 2 and "act has not run here; name its directory: --state DIR" in capsys.readouterr().err
    fleet.state.mkdir()
    assert fleet.run("log") == 0 and capsys.readouterr().out.startswith("nothing since ")
    assert fleet.run("log", "n[1-") == 2
    (fleet.state / "log.jsonl").write_text("no line of it\n")
    capsys.readouterr()
    assert fleet.run("log") == 3 and "log.jsonl:1: not a line of this log" in capsys.readouterr().err


def test_a_node_that_nobody_knows(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(fleet.results, "n2", "00000102", at=fleet.now - 60, wrong="wrong data")
    fleet.run("act")
    capsys.readouterr()
    assert fleet.run("log", "all") == 2
    assert capsys.readouterr().err == "nearfar: all: Slurm has no such node, and the log knows nothing of it\n"
    assert fleet.run("log", "n1") == 0 and capsys.readouterr().out.startswith("nothing of n1 since ")

    def no_answer() -> None:
        raise CouldNotJudge("no answer")

    monkeypatch.setattr(fleet.slurm, "nodes", no_answer)
    assert fleet.run("log", "n2") == 0 and fleet.run("log", "all") == 0


def test_the_document_is_the_one_that_is_documented(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.slow("n3", 7200, 60)
    fleet.run("act")
    capsys.readouterr()
    assert fleet.run("log", "--since", "1h", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "nearfar-slurm-log/1" and len(document["events"]) == 1
    event = document["events"][0]
    assert (event["node"], event["what"], event["outcome"], event["flap"]) == ("n3", "drained", "done", False)
    page = (CHECKOUT / "docs/reference/slurm-status.md").read_text().partition("nearfar-slurm-log/1`\n")[2]
    assert not [key for key in (*document, *event) if f"`{key}`" not in page]


def test_a_log_of_many_lines(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    """It is read as a whole, in one go."""
    fleet.state.mkdir()
    line = (
        '{{"schema": "nearfar-act-log/1", "time": "2026-11-{day:02}T10:00:00.000000Z", "action": "{action}", "outcome": "done", '
        '"id": "{number:08x}", "node": "n{node}", "why": "x", "by": "root", "host": "h"}}\n'
    )
    with (fleet.state / "log.jsonl").open("w") as stream:
        for number in range(20_000):
            day, action = 1 + number // 1000, ("drain", "release")[number // 1000 % 2]
            stream.write(line.format(day=day, action=action, number=number, node=number % 1000))
    assert fleet.run("log", "n7", "--since", "all") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20 and sum("FLAPS" in each for each in lines) == 0
