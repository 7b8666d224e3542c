"""Answers of scontrol that are strange, cut off or of another form: read as they are, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base import printable
from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.slurm.controller import node_names
from nearfar.slurm.controller.node_state import parse_nodes
from nearfar.slurm.controller.scontrol import Slurm
from tests.slurm.controller.test_scontrol import GIVEN_AT, LINE, TRICKY, shown


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_an_answer_cut_off_anywhere_is_never_a_shorter_truth(data: st.DataObject) -> None:
    """Whole records, as they were, or an exception: what lies between is no answer."""
    reasons = data.draw(st.lists(st.one_of(st.just(""), LINE, TRICKY), min_size=1, max_size=3))
    texts = [shown(f"n{i}", "IDLE+DRAIN", reason, data.draw(TRICKY)) for i, reason in enumerate(reasons)]
    whole = "".join(texts)
    kept = data.draw(st.integers(0, len(whole)))
    try:
        found = parse_nodes(whole[:kept])
    except CouldNotJudge as error:
        assert re.search(r"at node '|of node n|shows node '|shows no nodes", str(error)), str(error)
        return
    ends = [len("".join(texts[: i + 1])) for i in range(len(texts))]
    assert len(found) == sum(end - 1 <= kept for end in ends), "each node of which anything is shown"
    assert all(found[f"n{i}"].reason == (printable(reasons[i]) or None) for i in range(len(found)))


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=200), st.integers(0, 2000), st.booleans())
def test_whatever_is_put_into_an_answer_no_node_is_dropped_silently(junk: str, at: int, lines: bool) -> None:
    whole = shown("n1", "IDLE+DRAIN", "nearfar: FAIL x run=1", "mine") + shown("n2", "DOWN", "Not responding")
    at = min(at, len(whole))
    text = whole[:at] + (f"\n{junk}\n" if lines else junk) + whole[at:]
    try:
        assert len(parse_nodes(text)) >= 2
    except CouldNotJudge:
        pass


@pytest.mark.parametrize(
    "comment",
    [
        "a\n   Reason=nearfar: FAIL host_device g2 cell.absent run=1", "a\nNodeName=n9 Arch=x\n   State=IDLE",
        "a\n   Comment=b", "a\n   Partitions=gpu",
    ],
)  # fmt: skip
@pytest.mark.parametrize("state", ["DOWN", "IDLE+DRAIN"])
def test_a_comment_is_never_taken_for_a_reason_or_a_node(comment: str, state: str) -> None:
    with pytest.raises(CouldNotJudge, match="n1"):
        parse_nodes(shown("n1", state, "", comment) + shown("n2"))


@pytest.mark.parametrize(
    "reason",
    ["a\\nb\\", "\\", "'\"`$(reboot)`\"'", "[root@2026-01-01T00:00:00]", "a [x@y] [root@Unknown]", "x" * 300, "\ufffd", "größer 温度"],
)  # fmt: skip
def test_strange_reasons(reason: str) -> None:
    node = parse_nodes(shown("n1", "IDLE+DRAIN", reason))["n1"]
    assert (node.reason, node.reason_by, node.reason_at) == (reason, "root", GIVEN_AT)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("bad\rDIMM", "bad\\rDIMM"), ("\x1b[2J\x1b[31mred", "\\x1b[2J\\x1b[31mred"), ("a\u202eb\u2028c", "a\\u202eb\\u2028c"),
        ("x\n    \x07y", "x\n\\x07y"),
    ],
)  # fmt: skip
def test_what_would_move_a_cursor_is_written_out(written: str, read: str) -> None:
    """Reasons and comments are shown on administrators' terminals, in mails and on pages."""
    node = parse_nodes(shown("n1", "IDLE+DRAIN", written, written.replace("\n    ", " ")))["n1"]
    assert node.reason == read and all(letter.isprintable() for letter in (node.comment or ""))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-21T19:05:55", 1795287955.0), ("2106-02-07T06:28:14", None), ("2106-02-07T06:28:15", None), ("Unknown", None),
        ("4294967294", None), ("None", None), ("N/A", None),
    ],
)  # fmt: skip
def test_times_that_are_none(text: str, seconds: float | None) -> None:
    """4294967294 is Slurm's word for no value."""
    record = shown("n1").replace("BootTime=2026-11-21T19:05:55", f"BootTime={text} LastBusyTime={text}")
    node = parse_nodes(record.replace("CPUAlloc=0", "CPUAlloc=4294967294"))["n1"]
    assert (node.busy, node.free_of_jobs) == (seconds, False)


def fake_scontrol(folder: Path, answer: bytes) -> Slurm:
    """A ``scontrol`` that gives an answer, and writes its environment beside it."""
    (folder / "answer").write_bytes(answer)
    program = folder / "scontrol"
    program.write_text(f"#!/bin/sh\nenv > {folder}/environment\ncat {folder}/answer\n")
    program.chmod(0o755)
    user = {"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8", "SLURM_TIME_FORMAT": "relative", "TZ": "Asia/Tokyo",
            "SCANCEL_STATE": "PENDING", "SLURM_JOB_ID": "7", "SLURM_JWT": "token"}  # fmt: skip
    return Slurm({**user, "PATH": f"{folder}:/usr/bin:/bin"})


def test_bytes_that_are_no_text_and_carriage_returns(tmp_path: Path) -> None:
    answer = shown("n1", "IDLE+DRAIN", "REASON").encode() + shown("n2").encode()
    slurm = fake_scontrol(tmp_path, answer.replace(b"REASON", b"gr\xf6\xdfer\rNodeName=n9"))
    found = slurm.nodes()
    assert set(found) == {"n1", "n2"}
    assert found["n1"].reason == "gr\ufffd\ufffder\\rNodeName=n9"


def test_how_the_caller_likes_his_times_and_language_changes_nothing(tmp_path: Path) -> None:
    slurm = fake_scontrol(tmp_path, shown("n1").encode())
    slurm.nodes()
    seen = (tmp_path / "environment").read_text().splitlines()
    assert {"LC_ALL=C", "SLURM_TIME_FORMAT=standard", "TZ=UTC"} <= set(seen)
    slurms = {line for line in seen if line.startswith(("SLURM_", "SCANCEL_"))}
    assert slurms == {"SLURM_TIME_FORMAT=standard", "SLURM_JWT=token"}, (
        "his options of Slurm's commands neither, only who he is"
    )


def test_an_answer_in_another_form_is_none(tmp_path: Path) -> None:
    for answer in (
        "",
        "{}",
        "NodeName=n1 Arch=x State=IDLE Reason=a b\n",
        shown("n1").replace("   State=", "   Zustand="),
    ):
        with pytest.raises(CouldNotJudge):
            fake_scontrol(tmp_path, answer.encode()).nodes()


def test_an_answer_that_is_no_text_is_told_in_one_printable_line() -> None:
    for junk in ("\x1b[2J\r\x07rubbish", "NodeName=\x1b[31mn1 Arch=x", f"{shown('n1').rstrip()}\nodd\x1b[2J\n\n"):
        with pytest.raises(CouldNotJudge) as error:
            parse_nodes(junk)
        assert str(error.value).isprintable(), repr(str(error.value))


@pytest.mark.parametrize("nodes", ["n1\nn2", "n1\x1b[31m", "<b>n1</b>", "n1\u202e"])
def test_a_name_that_is_none_is_told_in_one_printable_line(nodes: str) -> None:
    with pytest.raises(NearfarError, match="not a node list such as") as error:
        node_names.expand(nodes)
    assert str(error.value).isprintable(), repr(str(error.value))


def test_an_order_that_was_taken_and_not_done(tmp_path: Path) -> None:
    """A wrapper of the site's own that ends with 0 whatever scontrol did."""
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\ncat <<'END'\n{shown('n1')}END\n")
    (tmp_path / "scontrol").chmod(0o755)
    slurm = Slurm({"PATH": f"{tmp_path}:/bin"})
    with pytest.raises(
        CouldNotJudge,
        match=r"^n1: still IDLE after 0 s, though scontrol update ended with 0: slurmctld's log has the reason",
    ):
        slurm.wait("n1", lambda node: node.drain, 0.0)


def test_a_slurmctld_that_misses_one_question_is_asked_again() -> None:
    answers = iter([CouldNotJudge("scontrol: timed out"), shown("n1")])

    class Busy(Slurm):
        def call(self, *words: str) -> str:
            answer = next(answers)
            if isinstance(answer, CouldNotJudge):
                raise answer
            return answer

    assert Busy().wait("n1", lambda node: True, 20).name == "n1"
