"""What act does about a node in each of Slurm's states: the table of docs/reference/slurm-act.md, and what decides by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nearfar.slurm.act.decide import DRAIN, NOTHING, RESUME, decide
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.findings import deaths
from nearfar.slurm.findings.log_summary import LogSummary
from nearfar.slurm.drains.objections import objection_to_drain, objection_to_resume
from tests.conftest import CHECKOUT
from tests.slurm.act.test_decide import FOREIGN, HOUR, NOW, OURS, POLICY, WRONG, cluster, drained, of, ran, state

PASSED = ran("n1", "r9", passed=["sole.g2_n0"])
ROW = re.compile(
    r"\| (?P<states>`[^|]+`) \| (?P<drained>yes|no)[^|]* \| (?P<resumed>yes|no)[^|]* \| (?P<usable>yes|no) \|"
)


def node(words: str, **more: object) -> NodeState:
    base, *flags = words.split("+")
    return state("n1", *flags, base=base, **more)  # type: ignore[arg-type]


def rows() -> Iterator[tuple[str, bool, bool, bool]]:
    """Each state of the guide's table: whether a node in it is drained, resumed, and counts as usable."""
    for line in (CHECKOUT / "docs/reference/slurm-act.md").read_text().splitlines():
        row = ROW.match(line)
        if row is not None:
            for words in re.findall(r"`([^`]+)`", row["states"]):
                yield words, row["drained"] == "yes", row["resumed"] == "yes", row["usable"] == "yes"


STATES = sorted(rows())


def test_the_table_has_the_states_that_slurm_has() -> None:
    flags = {word for words, *_ in STATES for word in words.split("+")}
    assert flags >= {
        "IDLE", "MIXED", "ALLOCATED", "DOWN", "ERROR", "UNKNOWN", "FUTURE", "BLOCKED", "CLOUD", "COMPLETING", "DYNAMIC_NORM", "FAIL",
        "INVALID_REG", "MAINTENANCE", "NOT_RESPONDING", "PLANNED", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "REBOOT_ISSUED",
        "REBOOT_REQUESTED", "RESERVED",
    }  # fmt: skip


@pytest.mark.parametrize(("words", "drains", "resumes", "usable"), STATES)
def test_what_is_done_in_each_state(words: str, drains: bool, resumes: bool, usable: bool) -> None:
    assert node(words).usable is usable
    decided = decide([ran("n1", "r1", WRONG)], cluster(n1=node(words)), POLICY, LogSummary(), NOW)
    assert of(decided, "n1")[0] == (DRAIN if drains else NOTHING), of(decided, "n1")
    assert decided.nodes[0].evidence is not None, "what was found is listed whatever its state"
    assert (objection_to_drain(node(words)) is None) is drains, "asked again just before the write"
    ours = node(f"{words}+DRAIN", reason=OURS)
    action, why = of(decide([PASSED], cluster(n1=ours), POLICY, drained("n1", 5), NOW), "n1")
    assert action == (RESUME if resumes else NOTHING), why
    assert (objection_to_resume(ours, OURS) is None) is resumes
    assert resumes or ours.words in why


@pytest.mark.parametrize("words", ["FROZEN", "IDLE+FROZEN", "INVAL"])
def test_a_state_that_is_not_known_is_left_alone_and_told(words: str) -> None:
    decision = decide([ran("n1", "r1", WRONG)], cluster(n1=node(words)), POLICY, LogSummary(), NOW).nodes[0]
    assert (decision.node, decision.action, decision.cause.code) == ("n1", NOTHING, "act.unreadable")


def test_a_node_that_has_died_is_told_once_and_waits() -> None:
    """Slurm 22.05 keeps our reason, 23.02 and later append theirs; ReturnToService=1 leaves it down when it answers again."""
    past = drained("n1", 5)
    for reason in (OURS, f"{OURS} : Not responding"):
        dead = cluster(n1=node("DOWN+DRAIN+NOT_RESPONDING", reason=reason))
        decided = decide([PASSED], dead, POLICY, past, NOW)
        assert list(decided.died) == ["n1"] and "console, power-cycle it" in decided.died["n1"]
        assert of(decided, "n1")[0] == NOTHING and decided.nodes[0].drained
        for then, code in ((drained("n1", 5, hard=True), "act.hard_evidence"), (past, "act.stays_drained")):
            cause = decide([], dead, POLICY, then, NOW).nodes[0].cause
            assert (cause.code, cause.fields["state"]) == (code, "DOWN+DRAIN+NOT_RESPONDING")
            assert not cause.fields.get("retest"), "no retest yet"
        told = replace(past, died={"n1": NOW - HOUR / 2})
        assert not decide([PASSED], dead, POLICY, told, NOW).died
        back = cluster(n1=node("DOWN+DRAIN", reason=reason))
        up = decide([PASSED], back, POLICY, told, NOW)
        assert "(DOWN+DRAIN)" in up.up_again["n1"]
        told = replace(told, up_again={"n1": NOW - 60})
        again = decide([PASSED], back, POLICY, told, NOW)
        assert not again.up_again and not again.died
        assert of(again, "n1")[0] == NOTHING, "what it passed before it died says nothing"
        idle = cluster(n1=node("IDLE+DRAIN", reason=OURS))
        between = decide([PASSED], idle, POLICY, replace(told, died={"n1": NOW - 4 * HOUR}), NOW)
        assert of(between, "n1")[0] == NOTHING, "what it passed before it answered again says nothing"
        assert of(decide([PASSED], idle, POLICY, past, NOW), "n1")[0] == RESUME
        dead_again = decide([], dead, POLICY, replace(told, died={"n1": NOW - 7200}, up_again={"n1": NOW - 60}), NOW)
        assert list(dead_again.died) == ["n1"]


@pytest.mark.parametrize("theirs", ["Not responding", "Node unexpectedly rebooted"])
def test_slurms_reason_in_the_place_of_ours_is_still_our_drain(theirs: str) -> None:
    past = drained("n1", 5)
    nodes = deaths.with_our_reasons(cluster(n1=node("IDLE+DRAIN", reason=theirs)), past)
    assert nodes["n1"].reason == f"{OURS} : {theirs}"
    assert of(decide([PASSED], nodes, POLICY, past, NOW), "n1")[0] == RESUME
    assert objection_to_resume(node("IDLE+DRAIN", reason=theirs), f"{OURS} : {theirs}") is None
    assert objection_to_resume(node("IDLE+DRAIN", reason=FOREIGN), f"{OURS} : {theirs}") is not None
    for foreign, log in (
        (FOREIGN, past), (theirs, LogSummary()), (theirs, replace(past, resumed_by_others={"n1": NOW - HOUR})),
    ):  # fmt: skip
        plain = cluster(n1=node("IDLE+DRAIN", reason=foreign))
        assert deaths.with_our_reasons(plain, log) == plain, "somebody has been there"
