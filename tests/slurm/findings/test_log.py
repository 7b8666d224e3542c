"""The log of ``act``: what was begun counts, what a crash cut short is passed over, and drains that were stopped stay so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base.errors import CouldNotJudge
from nearfar.site.drain_policy import Policy
from nearfar.slurm.act import ActOptions, view
from nearfar.slurm.controller.scontrol import Slurm
from nearfar.slurm.findings.log import ActLog, Entry
from nearfar.slurm.findings.log_summary import summarize

REASON = {
    "reason": "nearfar: FAIL health g2 run=1",
    "check": "health",
    "finding": {"subject": "g2", "verdict": "FAIL", "reason": "", "hard": True},
}


def test_what_was_begun_counts_as_done_unless_it_was_refused(tmp_path: Path) -> None:
    journal = ActLog(tmp_path)
    journal.begin("drain", 10.0, "n1", **REASON)  # and then this process died
    journal.end(journal.begin("drain", 11.0, "n2", **REASON), "refused", 11.5)
    journal.end(journal.begin("drain", 12.0, "n3", **REASON), "unclear", 12.5)
    journal.end(journal.begin("drain", 13.0, "n4", **REASON), "done", 13.5)
    journal.end(journal.begin("resume", 14.0, "n4"), "unclear", 14.5)
    read = summarize(journal.entries())
    assert read.drains == [("n1", 10.0), ("n3", 12.0), ("n4", 13.0)]
    assert (set(read.drained), set(read.begun)) == ({"n4"}, {"n1", "n3"}), "a resume that is unclear has not been done"
    journal.end(journal.begin("resume", 15.0, "n4"), "done", 15.5)
    assert set(summarize(journal.entries()).drained) == set()
    assert summarize(journal.entries()).since["n4"] == 15.0
    journal.end(journal.begin("drain", 16.0, "n1", **REASON), "done", 16.5)
    assert summarize(journal.entries()).drains == [("n3", 12.0), ("n4", 13.0), ("n1", 16.0)], (
        "the same drain, tried again"
    )


def test_a_persons_word_about_a_drain_that_the_log_does_not_know(tmp_path: Path) -> None:
    """Also where it knows an earlier drain of that node, for another reason."""
    journal = ActLog(tmp_path)
    journal.end(journal.begin("drain", 10.0, "n2", **REASON), "done", 10.5)
    for node in ("n1", "n2"):
        journal.note("clear", 20.0, node, why="seen to", reason="nearfar: FAIL health g3 run=2", check="health")
    read = summarize(journal.entries())
    for node in ("n1", "n2"):
        assert (read.drained[node].reason, read.drained[node].hard) == ("nearfar: FAIL health g3 run=2", None)
        assert read.cleared[node] == read.drained[node].at == 20.0


def test_a_line_that_a_crash_cut_short(tmp_path: Path) -> None:
    journal = ActLog(tmp_path)
    journal.note("latch", 1.0, why="cap")
    whole = journal.path.read_bytes()
    for kept in range(1, len(whole) - 1, 37):
        journal.path.write_bytes(whole + whole[:kept])
        assert [entry.action for entry in journal.entries()] == ["latch"]
        journal.note("reset_latch", 2.0)
        journal.note("latch", 3.0, why="again")
        assert [entry.action for entry in journal.entries()] == ["latch", "reset_latch", "latch"]
        assert journal.path.read_bytes().startswith(whole + whole[:kept]), "it is only ever added to"


def test_a_line_that_was_cut_short_in_the_middle_of_a_letter(tmp_path: Path) -> None:
    journal = ActLog(tmp_path)
    journal.note("latch", 1.0, why="fermé")
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole + whole[: whole.index("é".encode()) + 1])
    assert [entry.more["why"] for entry in journal.entries()] == ["fermé"]
    journal.note("reset_latch", 2.0)
    assert [entry.action for entry in journal.entries()] == ["latch", "reset_latch"]
    last = journal.last()
    assert last is not None and last.action == "reset_latch"
    with open(journal.path, "ab") as stream:
        stream.write(b'{"schema": "\xc3"}\n')
    with pytest.raises(CouldNotJudge, match=r"log\.jsonl:4: not a line of this log"):
        journal.entries()


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = ActLog(tmp_path)
    journal.note("latch", 1.0, why="cap")
    before, write = journal.path.read_bytes(), os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: write(handle, data[:50]))
        with pytest.raises(CouldNotJudge, match="the disk is full"):
            journal.note("clear", 2.0, "n1", why="é" * 100)
    assert journal.path.read_bytes() == before


@pytest.mark.parametrize(
    "line", ["{}", "nonsense", '{"schema": "nearfar-act-log/2", "time": "2026-11-21T19:21:18.1Z"}', "[1]"]
)
def test_a_damaged_log_is_no_log(tmp_path: Path, line: str) -> None:
    journal = ActLog(tmp_path)
    journal.note("latch", 1.0)
    with open(journal.path, "a") as stream:
        stream.write(line + "\n")
    with pytest.raises(CouldNotJudge, match=r"log\.jsonl:2: not a line of this log"):
        journal.entries()


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    ActLog(tmp_path).note("latch", 2_000_000.0)
    with pytest.raises(CouldNotJudge, match="later than this host's clock"):
        view.look(ActOptions(Policy("s"), None, None, tmp_path), Slurm({"PATH": ""}), now=1_000_000.0)


ACTIONS = st.sampled_from(["drain", "resume", "clear", "comment", "latch", "reset_latch", "drain_again", "release"])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(ACTIONS, st.sampled_from(["n1", "n2"]), st.sampled_from(["done", "refused", "unclear", None])))
)
def test_only_a_person_allows_drains_again(actions: list[tuple[str, str, str | None]]) -> None:
    entries = []
    for index, (action, node, outcome) in enumerate(actions):
        begun = Entry(action, "begun", float(index), str(index), node, REASON)
        entries += [begun, *([] if outcome is None else [Entry(action, outcome, index + 0.5, str(index), node)])]
    closed = False
    for action, _, outcome in actions:
        if action in ("latch", "reset_latch") and outcome != "refused":
            closed = action == "latch"
    assert (summarize(entries).stopped is not None) == closed
