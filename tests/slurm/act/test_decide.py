"""What is decided about nodes: never more than the site allows, and nothing on doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base import Finding
from nearfar.site.drain_policy import DrainCap, DrainSteps, NightRule, Policy
from nearfar.slurm.act.decide import COMMENT, DRAIN, NOTHING, RESUME, UNCOMMENT, Decisions, decide
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.findings import reasons
from nearfar.slurm.findings.check_run import CheckRun
from nearfar.slurm.findings.log_summary import LogSummary, OurDrain
from nearfar.slurm.drains.objections import (
    objection_to_comment,
    objection_to_drain,
    objection_to_resume,
    our_comment,
    our_reason,
)

HOUR = 3600.0
NOW = 1_800_000_000.0
POLICY = Policy(
    "s",
    default=DrainSteps("drain", "drain"),
    per_day=DrainCap(2, 0.5),
    in_all=DrainCap(4, 0.5),
    same_metric=DrainCap(3, 0.5),
)
FOREIGN = "bad DIMM, ticket 12"
SLOW = Finding(
    "sole.g2_n0",
    "FAIL",
    "slow",
    fields={"cell": "g2:n0", "class": "sole", "value": 27.1, "limit": 52.6, "unit": "GB/s"},
)
WRONG = Finding("g2:n0", "FAIL", "wrong data", True, "cell.wrong_data")
ABSENT = Finding("g2", "FAIL", "GPU 2 is absent", True, "cell.absent")
OURS = "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=r0"


def ran(
    node: str, run: str, *failures: Finding, hours_ago: float = 1, verdict: str = "", passed: Sequence[str] = (),
    check: str = "host_device_check",
) -> CheckRun:  # fmt: skip
    ended = NOW - hours_ago * HOUR
    word = verdict or ("FAIL" if failures else "PASS")
    return CheckRun(node, check, run, ended - 60, ended, word, failures, frozenset(passed))


def state(
    name: str, *flags: str, reason: str | None = None, comment: str | None = None, base: str = "IDLE"
) -> NodeState:
    return NodeState(name, base, frozenset(flags), reason, comment=comment, partitions=("gpu",))


def cluster(count: int = 20, **others: NodeState) -> dict[str, NodeState]:
    return {**{f"n{i}": state(f"n{i}") for i in range(1, count + 1)}, **others}


def of(decisions: Decisions, node: str) -> tuple[str, str]:
    return next((d.action, d.why) for d in decisions.nodes if d.node == node)


def code_of(decisions: Decisions, node: str) -> tuple[str, str]:
    return next((d.action, d.cause.code) for d in decisions.nodes if d.node == node)


def drained(node: str, hours_ago: float, hard: bool = False, what: str | None = "sole.g2_n0") -> LogSummary:
    at = NOW - hours_ago * HOUR
    return LogSummary({node: at}, {node: OurDrain(at, OURS, "host_device_check", found(what, hard))}, ((node, at),))


def found(figure: str | None, hard: bool = False) -> Finding:
    return Finding(figure or "g2", "FAIL", "", hard, fields={} if figure is None else {"value": 27.1})


def test_a_slow_figure_drains_once_another_run_was_as_slow() -> None:
    first = ran("n1", "r1", SLOW, hours_ago=20)
    once = decide([first], cluster(), POLICY, LogSummary(), NOW)
    assert of(once, "n1") == (
        NOTHING,
        "FAIL host_device d2h g2 27.1<52.6 GB/s run=r1: seen once: a second run has to confirm it",
    )
    twice = decide([first, ran("n1", "r2", SLOW)], cluster(), POLICY, LogSummary(), NOW)
    assert of(twice, "n1") == (DRAIN, "confirmed by run r1")
    assert twice.nodes[0].reason == "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=r2"


@pytest.mark.parametrize(
    ("between", "why"),
    [
        ([ran("n1", "r2", passed=["sole.g2_n0"], hours_ago=10)], "not confirmed: run r2"),
        ([ran("n1", "r3", SLOW, hours_ago=1)], "seen once"),  # the same run, found in two places
        ([replace(ran("n1", "r2", SLOW), started=NOW - HOUR - 30)], "seen once"),  # at the same time
        ([ran("n1", "r2", replace(SLOW, subject="sole.g1_n0"), hours_ago=10)], "seen once"),  # another figure
        ([ran("n2", "r2", SLOW, hours_ago=10)], "seen once"),
        ([ran("n1", "r2", SLOW, hours_ago=10, check="peer_check")], "seen once"),
        ([ran("n1", "r2", SLOW, hours_ago=8 * 24)], "too long ago"),
    ],
)  # fmt: skip
def test_what_confirms_nothing(between: list[CheckRun], why: str) -> None:
    decisions = decide([*between, ran("n1", "r3", SLOW)], cluster(), POLICY, LogSummary(), NOW)
    assert of(decisions, "n1")[0] == NOTHING
    assert why in of(decisions, "n1")[1]


def slow_nights(*days_ago: float, of: int = 31, others: str = "passed", **more: Any) -> list[CheckRun]:
    """A run a night for a month, slow on some of them."""
    runs = []
    for day in range(of):
        well = {"passed": ["sole.g2_n0"]} if others == "passed" else {}
        failed = (SLOW,) if day in days_ago else ()
        runs.append(ran("n1", f"r{day}", *failed, hours_ago=1 + 24 * day, **({} if failed else well), **more))
    return runs


def test_what_comes_and_goes_drains_by_the_nights_on_which_it_was_slow() -> None:
    decisions = decide(slow_nights(0, 7, 29), cluster(), POLICY, LogSummary(), NOW)
    assert of(decisions, "n1") == (DRAIN, "slow on 3 of the last 30 nights (also in run r7, r29)")
    assert decisions.nodes[0].reason == "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=r0"
    for fewer in ((0, 7), (0, 7, 30)):
        assert of(decide(slow_nights(*fewer), cluster(), POLICY, LogSummary(), NOW), "n1")[0] == NOTHING


def test_it_need_not_be_slow_in_the_newest_run_but_lately_and_not_before_a_persons_word() -> None:
    """On four nights of five it is well, and act may be a run late."""
    assert of(decide(slow_nights(1, 7, 20), cluster(), POLICY, LogSummary(), NOW), "n1")[0] == DRAIN
    assert of(decide(slow_nights(2, 7, 20), cluster(), POLICY, LogSummary(), NOW), "n1")[0] == NOTHING, (
        "max_age is 36 hours"
    )
    cleared = LogSummary({"n1": NOW - 10 * 24 * HOUR})
    assert of(decide(slow_nights(0, 7, 20), cluster(), POLICY, cleared, NOW), "n1")[0] == NOTHING


def test_an_intermittent_night_counts_and_alone_drains_nobody() -> None:
    def seen(*fails: int) -> Decisions:
        runs = slow_nights(*fails)
        runs = [
            replace(run, verdict="DEGRADED", intermittent=frozenset(["sole.g2_n0"])) if day in (4, 9, 15) else run
            for day, run in enumerate(runs)
        ]
        return decide(runs, cluster(), POLICY, LogSummary(), NOW)

    assert of(seen(0), "n1") == (DRAIN, "slow on 4 of the last 30 nights (also in run r4, r9)")
    assert of(seen(), "n1")[0] == NOTHING


def test_several_runs_of_one_night_are_one_night() -> None:
    runs = [ran("n1", f"r{hour}", SLOW, hours_ago=hour) for hour in (1, 240, 242, 251)]
    well = [ran("n1", "w", passed=["sole.g2_n0"], hours_ago=100)]
    assert of(decide([*runs, *well], cluster(), POLICY, LogSummary(), NOW), "n1")[0] == NOTHING
    again = [*runs, *well, ran("n1", "x", SLOW, hours_ago=253)]
    assert of(decide(again, cluster(), POLICY, LogSummary(), NOW), "n1")[0] == DRAIN, "253 and 240 hours ago are two"


def test_a_site_sets_how_many_nights() -> None:
    strict = replace(POLICY, intermittent=NightRule(2, 10))
    assert of(decide(slow_nights(0, 7), cluster(), strict, LogSummary(), NOW), "n1")[0] == DRAIN
    assert of(decide(slow_nights(0, 10), cluster(), strict, LogSummary(), NOW), "n1")[0] == NOTHING


def test_a_drained_node_is_released_by_its_check_however_often_it_failed_before() -> None:
    past = drained("n1", 24 * 25)
    ours = cluster(n1=state("n1", "DRAIN", reason=OURS))
    failed = [ran("n1", f"f{day}", SLOW, hours_ago=24 * day) for day in (5, 10, 15)]
    assert of(decide([*failed, ran("n1", "w", passed=["sole.g2_n0"])], ours, POLICY, past, NOW), "n1")[0] == RESUME


def test_what_comes_and_goes_on_many_nodes_at_once_is_no_nodes_fault() -> None:
    runs = [replace(run, node=f"n{node}") for node in (1, 2, 3) for run in slow_nights(0, 7, 20)]
    decisions = decide(runs, cluster(5), POLICY, LogSummary(), NOW)
    assert {d.action for d in decisions.nodes} == {NOTHING} and decisions.blamed


def test_hard_evidence_stands_whatever_the_next_run_says() -> None:
    runs = [ran("n1", "r1", WRONG, hours_ago=5), ran("n1", "r2", passed=["sole.g2_n0"])]
    decisions = decide(runs, cluster(), POLICY, LogSummary(), NOW)
    assert of(decisions, "n1") == (DRAIN, "hard evidence stands at once")
    assert decisions.nodes[0].reason == "nearfar: FAIL host_device g2:n0 cell.wrong_data run=r1"


def test_slow_figures_that_are_too_old_or_from_before_a_persons_word() -> None:
    for age, past in ((40, LogSummary()), (5, LogSummary({"n1": NOW - 2 * HOUR}))):
        twice = [ran("n1", "r0", SLOW, hours_ago=age + 1), ran("n1", "r1", SLOW, hours_ago=age)]
        assert of(decide(twice, cluster(), POLICY, past, NOW), "n1")[0] == NOTHING


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (state("n1", "DRAIN", reason=FOREIGN), "its reason is not ours: 'bad DIMM, ticket 12'"),
        (state("n1", base="DOWN", reason=FOREIGN), "its reason is not ours: 'bad DIMM, ticket 12'"),
        (state("n1", "FAIL", reason=FOREIGN), "its reason is not ours: 'bad DIMM, ticket 12'"),
        (state("n1", "DRAIN"), "it is drained already"),
        (state("n1", base="DOWN"), "it is DOWN"),
        (state("n1", "NOT_RESPONDING", base="DOWN"), "it is DOWN+NOT_RESPONDING"),
    ],
)  # fmt: skip
def test_nodes_that_are_left_as_they_are(node: NodeState, why: str) -> None:
    decisions = decide([ran("n1", "r1", WRONG)], cluster(n1=node), POLICY, LogSummary(), NOW)
    assert of(decisions, "n1")[0] == NOTHING
    assert why in of(decisions, "n1")[1]


def test_a_node_that_slurm_does_not_have() -> None:
    assert of(decide([ran("zz", "r1", WRONG)], cluster(), POLICY, LogSummary(), NOW), "zz") == (
        NOTHING,
        "FAIL host_device g2:n0 cell.wrong_data run=r1: Slurm has no such node",
    )


def test_a_node_that_a_new_slurmctld_has_not_heard_from() -> None:
    for node, past in (
        (state("n1", base="UNKNOWN"), LogSummary()),
        (state("n1", "DRAIN", reason=OURS, base="UNKNOWN"), drained("n1", 5)),
        (state("n1", comment=OURS, base="UNKNOWN"), LogSummary()),
    ):
        runs = [ran("n1", "r1", passed=["sole.g2_n0"])] if node.drain or node.comment else [ran("n1", "r1", WRONG)]
        action, why = of(decide(runs, cluster(n1=node), POLICY, past, NOW), "n1")
        assert action == NOTHING and "slurmctld has not heard from it yet" in why
    for objection in (objection_to_drain, objection_to_comment):
        assert "has not heard" in (objection(state("n1", base="UNKNOWN")) or "it may be written")
    assert "has not heard" in (objection_to_resume(state("n1", "DRAIN", reason=OURS, base="UNKNOWN"), OURS) or "")


def test_indeterminate_never_acts() -> None:
    finding = replace(WRONG, verdict="INDETERMINATE")
    run = replace(ran("n1", "r1", verdict="INDETERMINATE"), failures=())
    assert finding not in run.failures
    assert code_of(decide([run], cluster(), POLICY, LogSummary(), NOW), "n1") == (NOTHING, "act.could_not_judge")


def test_the_ladder_of_each_check() -> None:
    runs = [ran("n1", "r1", SLOW, hours_ago=9), ran("n1", "r2", SLOW), ran("n2", "r3", WRONG)]
    for step, expected in (("observe", [NOTHING, NOTHING]), ("comment", [COMMENT, COMMENT]), ("drain", [DRAIN, DRAIN])):
        policy = replace(POLICY, checks={"host_device_check": DrainSteps(step, step)})
        assert [d.action for d in decide(runs, cluster(), policy, LogSummary(), NOW).nodes] == expected
    mixed = replace(POLICY, checks={"host_device_check": DrainSteps("drain", "comment")})
    assert [d.action for d in decide(runs, cluster(), mixed, LogSummary(), NOW).nodes] == [COMMENT, DRAIN]
    foreign = cluster(n1=state("n1", comment="mine"))
    assert of(decide(runs, foreign, mixed, LogSummary(), NOW), "n1")[0] == NOTHING


def test_our_comment_goes_once_the_check_passes() -> None:
    nodes = cluster(n1=state("n1", comment=OURS))
    assert of(decide([], nodes, POLICY, LogSummary(), NOW), "n1")[0] == NOTHING
    assert of(decide([ran("n1", "r1", passed=["sole.g2_n0"])], nodes, POLICY, LogSummary(), NOW), "n1")[0] == UNCOMMENT


def test_a_drained_node_is_resumed_by_the_check_that_drained_it() -> None:
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS))
    passed = ran("n1", "r1", passed=["sole.g2_n0"])
    assert of(decide([passed], nodes, POLICY, drained("n1", 5), NOW), "n1") == (
        RESUME,
        "host_device_check passed in run r1",
    )
    for runs, why in (
        ([], "has not run since"),
        ([replace(passed, started=NOW - 6 * HOUR)], "has not run since"),  # it began before the drain
        ([replace(passed, check="peer_check")], "has not run since"),
        ([replace(passed, passed=frozenset())], "did not judge sole.g2_n0"),
        ([replace(passed, verdict="INDETERMINATE")], "was INDETERMINATE"),
        ([passed, ran("n1", "r2", SLOW, hours_ago=0.1)], "was FAIL in run r2"),
        ([passed, ran("n1", "r2", WRONG, hours_ago=0.5, check="peer_check")], "FAIL peer g2:n0 cell.wrong_data run=r2: hard"),
    ):  # fmt: skip
        action, said = of(decide(runs, nodes, POLICY, drained("n1", 5), NOW), "n1")
        assert action == NOTHING and why in said


def test_hard_evidence_waits_for_a_person_and_then_for_a_pass() -> None:
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS))
    past = drained("n1", 50, hard=True, what=None)
    passed = ran("n1", "r1", hours_ago=2)
    assert "nearfar slurm clear n1" in of(decide([passed], nodes, POLICY, past, NOW), "n1")[1]
    before = replace(past, cleared={"n1": NOW - HOUR})
    stays = decide([passed], nodes, POLICY, before, NOW).nodes[0]
    assert (stays.cause.code, stays.cause.fields["retest"], stays.drained) == ("act.stays_drained", "n1", True)
    after = replace(past, cleared={"n1": NOW - 3 * HOUR})
    assert of(decide([passed], nodes, POLICY, after, NOW), "n1")[0] == RESUME


def test_a_drain_that_the_log_does_not_know() -> None:
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS))
    for past in (
        LogSummary(),
        replace(
            drained("n1", 5), drained={"n1": OurDrain(NOW - 5 * HOUR, "another", "host_device_check", found(None))}
        ),
    ):
        decisions = decide([ran("n1", "r1", passed=["sole.g2_n0"])], nodes, POLICY, past, NOW)
        assert code_of(decisions, "n1") == (NOTHING, "act.reason_unknown")


def test_a_persons_word_counts_from_its_own_moment_on() -> None:
    """A drain that the log knows only by that word is as old as it."""
    at = NOW - 3 * HOUR
    known = {"n1": OurDrain(at, OURS, "host_device_check", None)}
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS))
    passed = ran("n1", "r1", passed=["sole.g2_n0"])
    assert (
        of(decide([passed], nodes, POLICY, LogSummary({"n1": at}, known, cleared={"n1": at}), NOW), "n1")[0] == RESUME
    )
    assert of(decide([passed], nodes, POLICY, LogSummary({"n1": at}, known), NOW), "n1")[0] == NOTHING


@pytest.mark.parametrize(
    "reason", [f"{OURS} : reboot issued", f"INC-4711 {OURS}", f"{OURS}, called vendor", f"INC-4711: {OURS}\nwith care"]
)
def test_a_drain_of_ours_is_known_by_its_prefix_and_run_wherever_they_stand(reason: str) -> None:
    nodes = cluster(n1=state("n1", "DRAIN", reason=reason))
    action = decide([ran("n1", "r1", passed=["sole.g2_n0"])], nodes, POLICY, drained("n1", 5), NOW).nodes[0]
    assert (action.action, action.reason) == (RESUME, reason), action
    wrong = [ran(f"n{i}", f"r{i}", replace(WRONG, subject=f"g{i}:n0")) for i in (2, 3)]
    cap = decide(
        wrong, nodes, replace(POLICY, per_day=DrainCap(9, 1.0), in_all=DrainCap(2, 1.0)), drained("n1", 50), NOW
    )
    assert [d.node for d in cap.nodes if d.action == DRAIN] == ["n2"], "it counts against the cap"


@pytest.mark.parametrize("reason", ["called vendor", OURS.replace("run=r0", "run=")])
def test_a_reason_that_somebody_changed_waits_for_a_person(reason: str) -> None:
    nodes = cluster(n1=state("n1", "DRAIN", reason=reason))
    (decision,) = decide([], nodes, POLICY, drained("n1", 5), NOW).nodes
    assert decision.action == NOTHING and decision.waits, decision
    assert (decision.cause.code, decision.cause.fields["reason"]) == ("act.reason_edited", reason)
    assert "scontrol update nodename=n1 state=resume" in decision.why
    assert decide([], cluster(n1=state("n1", "DRAIN", reason=FOREIGN)), POLICY, LogSummary(), NOW).nodes == ()


def test_many_nodes_with_the_same_metric_are_not_the_nodes() -> None:
    figures = [replace(SLOW, subject=f"sole.g{i}_n0") for i in (1, 2, 3)]
    runs = [ran(f"n{i}", f"{r}{i}", figures[i - 1], hours_ago=h) for i in (1, 2, 3) for r, h in (("a", 20), ("b", 1))]
    runs += [ran("n4", "r4", passed=["sole.g2_n0"]), ran("n5", "r5", ABSENT)]
    decisions = decide(runs, cluster(), POLICY, LogSummary(), NOW)
    assert [d.action for d in decisions.nodes] == [NOTHING, NOTHING, NOTHING, NOTHING, DRAIN]
    assert [blame.nodes for blame in decisions.blamed] == [("n1", "n2", "n3")]


def test_hard_evidence_on_many_nodes_is_held_for_a_person() -> None:
    """As after a driver's upgrade; a node that another FAIL drained stays so meanwhile."""
    runs = [ran(f"n{i}", f"r{i}", replace(ABSENT, subject=f"g{i}")) for i in (1, 2, 3)]
    runs += [ran("n4", "r4", passed=["sole.g2_n0"])]
    decisions = decide(runs, cluster(), POLICY, LogSummary(), NOW)
    assert code_of(decisions, "n1") == (NOTHING, "act.shared_hard")
    assert "on 3 of 4 nodes at once" in of(decisions, "n1")[1]
    beside = decide([*runs, ran("n1", "s1", SLOW)], cluster(), POLICY, LogSummary(), NOW)
    assert of(beside, "n1") == of(decisions, "n1"), "whatever slow figures of its own drain nobody"
    assert decisions.stop is None and decisions.blamed[0].hard
    assert "on 3 of 4 nodes at once" in decisions.blamed[0].words
    before = replace(drained("n1", 3), since={})
    passed = ran("n1", "r5", replace(ABSENT, subject="g1"), hours_ago=0.5, passed=["sole.g2_n0"], verdict="PASS")
    still = decide([*runs, passed], cluster(n1=state("n1", "DRAIN", reason=OURS)), POLICY, before, NOW)
    assert (
        of(still, "n1")[0] == NOTHING
        and "FAIL host_device g1 cell.absent run=r1: hard evidence; once" in of(still, "n1")[1]
    )


def test_wrong_data_is_never_held_and_only_capped() -> None:
    runs = [ran(f"n{i}", f"r{i}", replace(WRONG, subject=f"g{i}:n0")) for i in range(1, 6)]
    decisions = decide(runs, cluster(), POLICY, LogSummary(), NOW)
    assert [d.action for d in decisions.nodes] == [DRAIN, DRAIN, NOTHING, NOTHING, NOTHING]
    assert decisions.blamed == () and decisions.stop == "no more than 2 drained within a day"


def test_what_comes_node_by_node_is_not_the_nodes_either() -> None:
    runs = [ran(f"n{i}", f"r{i}", replace(ABSENT, subject=f"g{i}"), hours_ago=10 - i) for i in (1, 2, 3)]
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS), n2=state("n2", "DRAIN", reason=OURS))
    past = LogSummary(
        {"n1": NOW - 8.5 * HOUR, "n2": NOW - 7.5 * HOUR}, drains=(("n1", NOW - 8.5 * HOUR), ("n2", NOW - 7.5 * HOUR))
    )
    decisions = decide(runs, nodes, replace(POLICY, per_day=DrainCap(8, 1.0), in_all=DrainCap(8, 1.0)), past, NOW)
    assert of(decisions, "n3")[0] == NOTHING
    assert [blame.nodes for blame in decisions.blamed] == [("n1", "n2", "n3")]


def test_the_worst_come_first_under_the_cap_and_drains_stop() -> None:
    kinds = [replace(WRONG, subject=f"thing_{letter}") for letter in "abc"]
    runs = [ran(f"n{i}", f"r{i}", kind) for i, kind in enumerate(kinds, 1)]
    runs += [ran("n9", "r8", SLOW, hours_ago=9), ran("n9", "r9", SLOW)]
    decisions = decide(runs, cluster(), POLICY, LogSummary(), NOW)
    assert [d.action for d in decisions.nodes] == [DRAIN, DRAIN, NOTHING, NOTHING]
    assert decisions.stop == "no more than 2 drained within a day"
    stopped = decide(runs, cluster(), POLICY, LogSummary(stopped=decisions.stop), NOW)
    assert {d.action for d in stopped.nodes} == {NOTHING}
    assert stopped.nodes[0].cause.code == "act.drains_stopped"


def test_the_share_of_a_partition_is_a_cap_too() -> None:
    nodes = {f"n{i}": replace(state(f"n{i}"), partitions=("big", "small") if i < 5 else ("big",)) for i in range(1, 21)}
    policy = replace(POLICY, per_day=DrainCap(8, 0.25), in_all=DrainCap(8, 0.5))
    runs = [ran(f"n{i}", f"r{i}", replace(WRONG, subject=f"thing_{'abcdefgh'[i]}")) for i in (1, 2, 5, 6)]
    decisions = decide(runs, nodes, policy, LogSummary(), NOW)
    assert [d.action for d in decisions.nodes] == [DRAIN, NOTHING, NOTHING, NOTHING]
    assert decisions.stop == "no more than 1 of the 4 nodes of partition small drained within a day"


def test_what_was_found_on_a_drained_node_does_not_grow_old() -> None:
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS))
    runs = [ran("n1", "r1", WRONG, hours_ago=45, check="peer_check"), ran("n1", "r2", passed=["sole.g2_n0"])]
    action, why = of(decide(runs, nodes, POLICY, drained("n1", 50), NOW), "n1")
    assert action == NOTHING and "FAIL peer g2:n0 cell.wrong_data run=r1: hard evidence; once" in why


# What holds whatever comes: everything is drawn, the rules are stated anew.

NAMES = [f"n{i}" for i in range(1, 9)]
FINDINGS = st.sampled_from(
    [
        SLOW,
        WRONG,
        replace(SLOW, subject="sole.n0_g1", fields={**SLOW.fields, "cell": "n0:g1"}),
        replace(WRONG, subject="g1", code="cell.absent"),
    ]
)


@st.composite
def check_runs(draw: st.DrawFn) -> CheckRun:
    failures = draw(st.lists(FINDINGS, max_size=2, unique_by=lambda found: found.subject))
    verdict = "FAIL" if failures else draw(st.sampled_from(["PASS", "DEGRADED", "INDETERMINATE"]))
    passed = draw(st.lists(st.sampled_from(["sole.g2_n0", "sole.n0_g1"]), unique=True))
    names = {f.subject for f in failures}
    return ran(draw(st.sampled_from(NAMES)), draw(st.sampled_from("abcdef")), *failures, verdict=verdict,
              hours_ago=draw(st.sampled_from([0.1, 1, 5, 12, 30, 48])), passed=[p for p in passed if p not in names],
              check=draw(st.sampled_from(["host_device_check", "peer_check"])))  # fmt: skip


REASONS = st.sampled_from([None, None, OURS, FOREIGN, "nearfar: by hand"])


@st.composite
def states(draw: st.DrawFn) -> dict[str, NodeState]:
    found = {}
    for name in NAMES:
        flags = draw(st.sampled_from([(), (), ("DRAIN",), ("NOT_RESPONDING",), ("PLANNED",)]))
        base = draw(st.sampled_from(["IDLE", "MIXED", "DOWN", "UNKNOWN"]))
        found[name] = state(name, *flags, reason=draw(REASONS), comment=draw(REASONS), base=base)
    return found


@st.composite
def pasts(draw: st.DrawFn) -> LogSummary:
    known = {}
    for name in NAMES:
        if draw(st.booleans()):
            at = NOW - draw(st.sampled_from([2.0, 20.0, 100.0])) * HOUR
            known[name] = OurDrain(
                at, OURS, "host_device_check", found(draw(st.sampled_from([None, "sole.g2_n0"])), draw(st.booleans()))
            )
    cleared = {
        name: NOW - draw(st.sampled_from([1.0, 10.0, 200.0])) * HOUR
        for name in draw(st.lists(st.sampled_from(NAMES), unique=True))
    }
    since = {name: max(each.at, cleared.get(name, 0)) for name, each in known.items()}
    return LogSummary(
        since, known, tuple((n, d.at) for n, d in known.items()), cleared, draw(st.sampled_from([None, None, "cap"]))
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(check_runs(), max_size=14), states(), pasts(), st.sampled_from([1, 2, 8]), st.sampled_from([0.1, 0.5, 1.0])
)
def test_what_always_holds(
    runs: list[CheckRun], nodes: dict[str, NodeState], past: LogSummary, most: int, share: float
) -> None:
    policy = replace(POLICY, per_day=DrainCap(most, share), in_all=DrainCap(most, share), same_metric=DrainCap(4, 0.5))
    decisions = decide(runs, nodes, policy, past, NOW)
    drains = [d.node for d in decisions.nodes if d.action == DRAIN]
    ours = [n for n, s in nodes.items() if s.drain and our_reason(s) is not None]
    assert len({*drains, *ours}) <= max(min(most, floor(share * len(NAMES)) or 1), len(ours)), "above the cap"
    assert not (drains and past.stopped), "drained though drains are stopped"
    assert sorted({d.node for d in decisions.nodes}) == [d.node for d in decisions.nodes], "a node decided on twice"
    for decision in decisions.nodes:
        before = nodes[decision.node]
        of_node = [run for run in runs if run.node == decision.node]
        assert before.base != "UNKNOWN" or decision.action == NOTHING, "done about a node that is not known yet"
        if decision.action == DRAIN:
            assert before.why_out is None or our_reason(before) is not None, "a foreign reason overwritten"
            assert not before.drain and before.base != "DOWN"
            assert decision.evidence is not None and reasons.read(decision.reason) is not None
            finding = decision.evidence.finding
            assert finding.verdict == "FAIL"
            check = decision.evidence.found_by.check
            failing = {
                r.run for r in of_node if r.check == check and any(f.subject == finding.subject for f in r.failures)
            }
            assert finding.hard or len(failing) > 1, "drained for a speed that was seen once"
        if decision.action == RESUME:
            was = past.drained[decision.node]
            assert before.drain and before.reason == was.reason, "a foreign drain resumed"
            assert not decision.waits
            floor_ = max(was.at, past.cleared.get(decision.node, 0))
            assert was.hard is False or past.cleared.get(decision.node, 0) > was.at, (
                "hard evidence resumed without a person"
            )
            assert any(
                r.check == was.check and r.verdict in ("PASS", "DEGRADED") and r.started > floor_ for r in of_node
            )
        if decision.action in (COMMENT, UNCOMMENT):
            assert before.comment is None or our_comment(before) is not None, "a foreign comment overwritten"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(check_runs(), max_size=14), states(), pasts())
def test_runs_that_could_not_be_judged_never_act(
    runs: list[CheckRun], nodes: dict[str, NodeState], past: LogSummary
) -> None:
    unjudged = [replace(run, verdict="INDETERMINATE", failures=(), passed=frozenset()) for run in runs]
    assert {d.action for d in decide(unjudged, nodes, POLICY, past, NOW).nodes} <= {NOTHING}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(check_runs(), max_size=14), states(), pasts())
def test_a_site_that_says_nothing_is_only_observed(
    runs: list[CheckRun], nodes: dict[str, NodeState], past: LogSummary
) -> None:
    actions = {d.action for d in decide(runs, nodes, Policy("s"), past, NOW).nodes}
    assert not actions & {DRAIN, COMMENT}
