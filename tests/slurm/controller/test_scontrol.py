"""Reading slurmctld and telling it: what Slurm prints is read back whole, and what cannot be read is an exception."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base import printable, printable_lines
from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.slurm.controller.node_names import expand, fold
from nearfar.slurm.controller.node_state import parse_nodes
from nearfar.slurm.controller.scontrol import NoSlurm, NoSlurmConf, Refused, Slurm, WrongOption
from tests.support.private_slurm import PrivateSlurm, needed

GIVEN_AT = datetime(2026, 11, 21, 19, 21, 18, tzinfo=timezone.utc)
#: What Slurm 22.05 printed of a node, its free texts taken out.
RECORD = """\
NodeName={name} Arch=x86_64 CoresPerSocket=2 
   CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=1.75
   AvailableFeatures=(null)
   ActiveFeatures=(null)
   Gres=gpu:2(S:0-1)
   NodeAddr=127.0.0.1 NodeHostName={name} Port=54991 Version=22.05.8
   OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC @0 State=DOWN
   RealMemory=1 AllocMem=0 FreeMem=20314 Sockets=1 Boards=1
   State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=all,gpu 
   BootTime=2026-11-21T19:05:55 SlurmdStartTime=2026-11-21T19:21:17
   AllocTRES=
{texts}

"""  # noqa: W291


def shown(name: str, state: str = "IDLE", reason: str = "", comment: str = "") -> str:
    """A record as Slurm's slurm_sprint_node_table() puts it together."""
    texts = []
    if reason:
        first, *more = filter(None, reason.split("\n"))
        texts = [f"   Reason={first} [root@2026-11-21T19:21:18]", *(f"          {line}" for line in more)]
    texts += [f"   Comment={comment}"] if comment else []
    return RECORD.format(name=name, state=state, texts="\n".join(texts))


LINE = st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), min_size=1).filter(str.strip)
TRICKY = st.sampled_from(
    ["nearfar: FAIL x", "a [root@2026-01-01T00:00:00]", "n[1-4] State=DOWN", 'x="y" Comment=z', "Reason=q"]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(reasons=st.lists(st.one_of(LINE, TRICKY), min_size=1, max_size=4), comment=st.one_of(st.just(""), LINE, TRICKY))
def test_every_reason_and_comment_is_read_back(reasons: list[str], comment: str) -> None:
    text = "".join(
        shown(f"n{index}", "IDLE+DRAIN", reason, comment) for index, reason in enumerate(reasons)
    ) + shown("last")  # fmt: skip
    found = parse_nodes(text)
    assert [node.reason for node in found.values()] == [*map(printable, reasons), None]
    assert {node.comment for node in found.values()} == ({printable(comment), None} if comment else {None})
    assert {(node.reason_by, node.reason_at) for node in found.values()} == {("root", GIVEN_AT), (None, None)}
    assert {node.words for node in found.values()} == {"IDLE+DRAIN", "IDLE"}


def test_lines_of_a_reason_are_never_taken_for_a_node() -> None:
    found = parse_nodes(shown("n1", "IDLE+DRAIN", "two\nlines Reason=x\nNodeName=n2 State=IDLE"))
    assert list(found) == ["n1"]
    assert found["n1"].reason == "two\nlines Reason=x\nNodeName=n2 State=IDLE"
    assert found["n1"].partitions == ("all", "gpu")
    assert found["n1"].fields["Gres"] == "gpu:2(S:0-1)"


@pytest.mark.parametrize(
    ("state", "words", "idle", "down"),
    [
        ("IDLE", "IDLE", True, False), ("IDLE+NOT_RESPONDING", "IDLE+NOT_RESPONDING", False, True),
        ("DOWN+NOT_RESPONDING+DRAIN", "DOWN+DRAIN+NOT_RESPONDING", False, True), ("IDLE+PLANNED", "IDLE+PLANNED", False, False),
        ("MIXED+DRAIN+COMPLETING", "MIXED+COMPLETING+DRAIN", False, False),
    ],
)  # fmt: skip
def test_states_and_their_flags(state: str, words: str, idle: bool, down: bool) -> None:
    node = parse_nodes(shown("n1", state))["n1"]
    assert (node.words, node.idle, node.down) == (words, idle, down)


@pytest.mark.parametrize(
    "text",
    [
        "slurm_load_node error: Unable to contact slurm controller", shown("n1") + shown("n1"), "NodeName=n1 Arch=x86_64",
        shown("n1", "IDLE+DRAIN", "mine", "a\n   Reason=nearfar: FAIL"), shown("n1")[:300],
    ],
    ids=["a message", "a node twice", "no state", "a comment that makes a second reason", "half a record"],
)  # fmt: skip
def test_what_cannot_be_trusted_is_an_exception(text: str) -> None:
    with pytest.raises(CouldNotJudge):
        parse_nodes(text)


def test_lists_of_nodes() -> None:
    assert expand("n[1-3,7],m2") == ["m2", "n1", "n2", "n3", "n7"]
    assert fold(["n1", "n3", "n2", "m2"]) == "m2,n[1-3]"
    assert expand("k[001-003]x") == ["k001x", "k002x", "k003x"]
    for wrong in ("n[1-", "n]", "@rack", "n[3-1]", "a b", "n1!n2"):
        with pytest.raises(NearfarError, match=re.escape(repr(wrong)[1:-1])):
            expand(wrong)


def test_without_slurm() -> None:
    with pytest.raises(NoSlurm):
        Slurm({"PATH": "/nonexistent"}).nodes()


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateSlurm]:
    needed()
    with PrivateSlurm(cpus=1, gpus=0, nodes=2) as slurm:
        yield slurm


@pytest.mark.slurm
@pytest.mark.parametrize(
    "reason",
    ["a b State=IDLE [x@y] = \"q\" 'z' n[1-2] Comment=foo", "'q'", "trailing ", " leading", "tab\ta", "größer – ü", "x" * 300,
     "[root@2026-01-01T00:00:00]", "two\nlines", "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s g2.link run=8f3a"],
)  # fmt: skip
def test_reasons_through_a_real_slurmctld(private: PrivateSlurm, reason: str) -> None:
    slurm = Slurm(private.environment)
    before = datetime.now(timezone.utc).replace(microsecond=0)
    slurm.update("n2", lambda node: None, state="drain", reason=reason)
    slurm.call("scontrol", "update", "nodename=n2", "comment=my Reason=none State=DOWN")
    node = slurm.nodes()["n2"]
    assert (node.reason, node.comment, node.drain, node.base) == (
        printable_lines(reason),
        "my Reason=none State=DOWN",
        True,
        "IDLE",
    )
    assert node.reason_at is not None and node.reason_at >= before
    assert slurm.nodes()["n1"].reason is None


@pytest.mark.slurm
def test_an_objection_to_the_state_of_the_moment_stops_the_write(private: PrivateSlurm) -> None:
    slurm = Slurm(private.environment)
    slurm.update("n2", lambda node: None, state="drain", reason="by hand")
    with pytest.raises(Refused, match="n2: not ours"):
        slurm.update("n2", lambda node: "not ours" if node.reason == "by hand" else None, state="resume")
    assert slurm.node("n2").drain
    slurm.update("n2", lambda node: None, state="resume")
    assert slurm.wait("n2", lambda node: node.idle, 20).why_out is None
    assert slurm.version() >= "22.05"


@pytest.mark.slurm
def test_who_may_not(private: PrivateSlurm) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    command = [
        "setpriv",
        "--reuid=65534",
        "--clear-groups",
        "scontrol",
        "update",
        "nodename=n1",
        "state=drain",
        "reason=x",
    ]
    with pytest.raises(NearfarError, match="operator rights"):
        Slurm(private.environment).call(*command)
    with pytest.raises(CouldNotJudge, match="Node zz not found"):
        Slurm(private.environment).node("zz")


@pytest.mark.slurm
def test_a_slurmctld_that_is_away_is_no_answer(private: PrivateSlurm) -> None:
    text = (private.folder / "slurm.conf").read_text()
    dead = private.folder / "dead.conf"
    dead.write_text(re.sub(r"SlurmctldPort=\d+", "SlurmctldPort=1", text))
    slurm = Slurm({**private.environment, "SLURM_CONF": str(dead)}, limit=1)
    with pytest.raises(CouldNotJudge):
        slurm.nodes()


def test_a_configuration_that_is_not_there_is_not_waited_for() -> None:
    with pytest.raises(NearfarError, match=r"SLURM_CONF: /nonexistent/slurm\.conf: no such file") as refused:
        Slurm({"PATH": "", "SLURM_CONF": "/nonexistent/slurm.conf"})
    assert refused.value.exit_code == 2


@pytest.mark.slurm
@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--acount=x", "unrecognized option '--acount=x'"), ("-y", "invalid option -- 'y'"),
        ("--account", "option '--account' requires an argument"), ("--hold=x", "option '--hold' doesn't allow an argument"),
        ("--no", "option '--no' is ambiguous"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_option_is_shown(private: PrivateSlurm, option: str, words: str) -> None:
    with pytest.raises(WrongOption) as refused:
        Slurm(private.environment).call("sbatch", "--parsable", option)
    assert words in str(refused.value) and refused.value.exit_code == 2


@pytest.mark.slurm
def test_a_record_of_a_recent_slurm() -> None:
    """What a newer Slurm shows beside: how it came to be reserved, when it is resumed, which instance it is."""
    text = shown("n1", "IDLE+DRAIN+RESERVED", "nearfar: FAIL health g2 run=8f3a51c0", "spare").rstrip("\n")
    text = text.replace(
        "SlurmdStartTime=2026-11-21T19:21:17",
        "SlurmdStartTime=2026-11-21T19:21:17\n   LastBusyTime=Unknown ResumeAfterTime=None",
    )
    text += "\n   Extra={}\n   InstanceId=i-1 InstanceType=x\n   ReservationName=nearfar-retest-1\n\n"
    node = parse_nodes(text + shown("n2"))["n1"]
    assert (node.reason, node.comment, node.words) == (
        "nearfar: FAIL health g2 run=8f3a51c0",
        "spare",
        "IDLE+DRAIN+RESERVED",
    )
    assert node.fields["ReservationName"] == "nearfar-retest-1" and node.fields["ResumeAfterTime"] == "None"
    assert node.free_of_jobs


def test_without_a_slurm_conf_it_says_what_names_one(tmp_path: Path) -> None:
    """As Slurm 22.05 says it, with what to do behind."""
    made_up = tmp_path / "scontrol"
    made_up.write_text("#!/bin/sh\necho 'scontrol: fatal: Could not establish a configuration source' >&2\nexit 1\n")
    made_up.chmod(0o755)
    with pytest.raises(NoSlurmConf, match=r"SLURM_CONF=FILE$"):
        Slurm({"PATH": str(tmp_path)}).version()
