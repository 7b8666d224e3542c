"""Hard evidence stands until it is closed: by a person's word, or by a repair and a full passing run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from nearfar.base.errors import NearfarError
from nearfar.site.drain_policy import HEALTH, DrainCap, DrainSteps
from nearfar.slurm.act import messages
from nearfar.slurm.act.decide import DRAIN, NOTHING, RESUME, decide
from nearfar.slurm.act.quarantine import suspects
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.findings.check_run import CheckRun
from nearfar.slurm.findings.evidence import Evidence
from nearfar.slurm.findings.interventions import back_in_use, drained_by_others, resumed_by_others
from nearfar.slurm.findings.log import Entry
from nearfar.slurm.findings.log_summary import LogSummary, log_line, summarize
from nearfar.slurm.findings.reconcile import SlurmView, reconciled
from tests.slurm.act.test_decide import (
    ABSENT,
    FOREIGN,
    HOUR,
    NOW,
    OURS,
    POLICY,
    SLOW,
    WRONG,
    cluster,
    code_of,
    of,
    ran,
    state,
)

REASON = "nearfar: FAIL host_device g2:n0 cell.wrong_data run=r1"


def at(hours_ago: float) -> float:
    return NOW - hours_ago * HOUR


def booted(node: NodeState, hours_ago: float) -> NodeState:
    moment = datetime.fromtimestamp(at(hours_ago), timezone.utc)
    return replace(node, fields={"BootTime": f"{moment:%Y-%m-%dT%H:%M:%S}"})


def busy(hours_ago: float) -> dict[str, str]:
    """Slurm sets this when it resumes a node."""
    return {"LastBusyTime": f"{datetime.fromtimestamp(at(hours_ago), timezone.utc):%Y-%m-%dT%H:%M:%S}"}


def by(node: NodeState, hours_ago: float) -> NodeState:
    return replace(node, reason_by="alice", reason_at=datetime.fromtimestamp(at(hours_ago), timezone.utc))


def full(run: str, hours_ago: float, cells: Sequence[str] = ("g2:n0",), **more: object) -> list[CheckRun]:
    """A full run that passes: two checks."""
    both = [ran("n1", run, hours_ago=hours_ago, check=check) for check in ("host_device_check", "topology_check")]
    return [replace(one, **{"cells": frozenset(cells), "level": "nightly", **more}) for one in both]  # type: ignore[arg-type]


class Log:
    """Lines of a log, each at its own hour."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def line(self, action: str, hours_ago: float, outcome: str = "done", **more: object) -> Log:
        number = str(len(self.entries))
        self.entries.append(Entry(action, outcome, at(hours_ago), number, "n1", more))
        return self

    def evidence(self, run: CheckRun, hours_ago: float) -> Log:
        return self.line("evidence", hours_ago, **log_line(Evidence(run, run.failures[0])))

    def drain(self, hours_ago: float, outcome: str = "done") -> Log:
        more = {"reason": REASON, "check": "host_device_check", "finding": WRONG.to_raw(), "run": "r1"}
        return self.line("drain", hours_ago, outcome, **more)

    @property
    def past(self) -> LogSummary:
        return summarize(self.entries)


FOUND = ran("n1", "r1", WRONG, hours_ago=50)


def decided(node: NodeState, before: LogSummary, *runs: CheckRun) -> tuple[str, str]:
    nodes = cluster(n1=node)
    return of(decide(runs, nodes, POLICY, reconciled(before, SlurmView(nodes, lambda: None)), NOW), "n1")


def test_it_never_grows_too_old() -> None:
    assert decided(state("n1"), LogSummary(), FOUND) == (DRAIN, "hard evidence stands at once")
    assert decided(state("n1"), Log().evidence(FOUND, 49).past)[0] == DRAIN, "nor does it need its result any more"


@pytest.mark.parametrize("outcome", ["begun", "unclear"])
def test_a_drain_that_was_begun_uses_nothing_up_unless_the_node_shows_it(outcome: str) -> None:
    log = Log().evidence(FOUND, 49).drain(48, outcome)
    assert decided(state("n1"), log.past, FOUND)[0] == DRAIN
    action, why = decided(state("n1", "DRAIN", reason=REASON), log.past, FOUND)
    assert action == NOTHING and "nearfar slurm clear n1" in why


def test_a_done_drain_that_slurmctld_had_not_saved_when_it_was_killed() -> None:
    nodes, before = cluster(), Log().evidence(FOUND, 49).drain(48).past
    lost = reconciled(before, SlurmView(nodes, lambda: at(40)))
    assert of(decide([], nodes, POLICY, lost, NOW), "n1")[0] == DRAIN, (
        "it was started hours later, and does not know of it"
    )
    kept = reconciled(before, SlurmView(nodes, lambda: at(60)))
    assert of(decide([], nodes, POLICY, kept, NOW), "n1")[0] == NOTHING, (
        "it ran all the time: somebody has resumed the node"
    )
    seen = reconciled(Log().evidence(FOUND, 49).drain(48).line("drain_seen", 47).past, SlurmView(nodes, lambda: at(40)))
    assert of(decide([], nodes, POLICY, seen, NOW), "n1")[0] == NOTHING, "and so they have where it was seen drained"


@pytest.mark.parametrize("later", [True, False], ids=["a later line", "no later line"])
def test_a_drain_seen_by_a_clock_that_was_ahead_may_be_lost(later: bool) -> None:
    """The line of a call whose clock was four minutes ahead, two seconds after the drain."""
    log = Log().evidence(FOUND, 1).drain(0.01).line("drain_seen", 0.01 - 240 / 3600)
    if later:
        log = log.line("clear", 0.01 - 3 / 3600)
        log.entries[-1] = replace(log.entries[-1], node="n2")
    past = summarize(log.entries, now=at(0.007))
    found = reconciled(past, SlurmView(cluster(), lambda: at(0.008)))
    assert of(decide([], cluster(), POLICY, found, at(0.007)), "n1")[0] == DRAIN, (
        "slurmctld was killed before it saved it"
    )


@pytest.mark.parametrize("kept", [None, FOREIGN, OURS], ids=["dropped", "kept, another's", "kept, ours"])
def test_a_reason_means_nothing_on_a_node_in_use(kept: str | None) -> None:
    """A resumed node may keep it (versions.REASON_KEPT)."""
    node = by(state("n1", reason=kept), 60)
    assert decided(node, LogSummary(), FOUND)[0] == DRAIN


def test_a_passing_run_alone_closes_nothing() -> None:
    assert decided(state("n1"), Log().evidence(FOUND, 49).past, *full("r2", 2))[0] == DRAIN


def test_a_persons_word_closes_it_on_any_node() -> None:
    log = Log().evidence(FOUND, 49).line("clear", 5)
    assert decided(state("n1"), log.past, FOUND)[0] == NOTHING
    assert decided(state("n1"), Log().line("clear", 5).past, FOUND)[0] == NOTHING, "also what the log did not hold yet"
    again = ran("n1", "r3", WRONG, hours_ago=2)
    assert decided(state("n1"), log.past, FOUND, again)[0] == DRAIN, "what is found afterwards counts"


def test_a_persons_word_counts_though_the_logs_clock_was_ahead() -> None:
    log = Log().evidence(FOUND, -30).drain(-30).line("clear", 5)
    node = state("n1", "DRAIN", reason=REASON)
    assert decided(node, log.past, *full("r2", 2)) == (RESUME, "host_device_check passed in run r2")
    ahead = Log().evidence(FOUND, 49).line("clear", -30).line("reset_latch", 20)
    later = ran("n1", "r3", WRONG, hours_ago=2)
    assert decided(state("n1"), ahead.past, FOUND, later)[0] == DRAIN, "it closes nothing that came after it"


def test_a_reboot_and_a_full_passing_run_close_it() -> None:
    log = Log().evidence(FOUND, 49).past
    rebooted = booted(state("n1"), 20)
    assert decided(rebooted, log)[0] == DRAIN, "a reboot alone does not"
    assert decided(booted(state("n1"), 60), log, *full("r2", 2))[0] == DRAIN, "nor one from before the finding"
    assert decided(rebooted, log, *full("r2", 25))[0] == DRAIN, "nor with a run from before the reboot"
    assert decided(rebooted, log, *full("r2", 2, cells=["g1:n0"]))[0] == DRAIN, "nor with one that left the part out"
    assert decided(rebooted, log, *full("r2", 2, level="quick"))[0] == DRAIN, "nor with a quick look"
    first, second = full("r2", 2)
    assert decided(rebooted, log, first, replace(second, verdict="INDETERMINATE"))[0] == DRAIN, "nor with half a run"
    assert decided(rebooted, log, first, second)[0] == NOTHING


def test_a_drained_node_is_released_by_a_reboot_and_a_full_passing_run() -> None:
    log = Log().evidence(FOUND, 49).drain(48).past
    node = booted(state("n1", "DRAIN", reason=f"{REASON} : reboot issued"), 20)
    action, why = decided(node, log)
    assert action == NOTHING and "nearfar slurm retest n1" in why
    assert decided(node, log, *full("r2", 2))[0] == RESUME
    assert decided(booted(node, 60), log, *full("r2", 2))[0] == NOTHING


def test_what_somebody_has_resumed_is_not_drained_again_for_it() -> None:
    log = Log().evidence(FOUND, 49).drain(48)
    action, why = decided(state("n1"), log.past, FOUND)
    assert action == NOTHING and "somebody has resumed it since it was drained on" in why
    assert "a full run that passes closes it" in why, "it is listed until then"
    closed = decide(full("r2", 2, job=True), cluster(), POLICY, log.past, NOW)
    assert of(closed, "n1") == (NOTHING, messages.NO_FAIL.sentence)
    assert [each.closed_by.run for each in closed.hard["n1"].closed] == ["r2"]
    again = replace(ran("n1", "r3", WRONG, hours_ago=2), job=True)
    assert decided(state("n1"), log.past, FOUND, again)[0] == DRAIN, "what is found afterwards counts"
    outside = ran("n1", "r3", WRONG, hours_ago=30)
    seen = log.line("resumed_by_others", 20).past
    assert decided(state("n1"), seen, FOUND, outside)[0] == NOTHING, "not what was measured during the repair"


@pytest.mark.parametrize("kept", [True, False], ids=["its reason is kept", "the log has seen it"])
def test_what_somebody_else_has_drained_and_resumed(kept: bool) -> None:
    """Drains were stopped, so that we never drained it."""
    log = Log().evidence(FOUND, 49)
    node = replace(by(state("n1", reason=FOREIGN), 30), fields=busy(28)) if kept else state("n1")
    before = log.past if kept else log.line("drained_by_others", 29, since=at(30)).past
    action, why = decided(node, before)
    assert action == NOTHING and ("it was drained by somebody else on" if kept else "and it is in use again") in why
    assert decided(node, before, *full("r2", 2, job=True)) == (NOTHING, messages.NO_FAIL.sentence)
    note = by(state("n1", reason="rack move planned"), 30)
    assert decided(note, Log().evidence(FOUND, 49).past)[0] == DRAIN, "a note on a node in use is no drain"
    slurms = replace(by(state("n1", reason="Not responding"), 30), fields=busy(28))
    assert decided(slurms, Log().evidence(FOUND, 49).past)[0] == DRAIN, "a reason that Slurm gave by itself is nobody's"


def test_what_is_found_after_a_node_was_seen_in_use_again_stays_open() -> None:
    """The next job on it passes: between that and the drain there was no repair after the finding."""
    node, found = state("n1"), ran("n1", "r1", WRONG, hours_ago=25)
    log = Log().line("drained_by_others", 30, since=at(30))
    passed = full("r2", 2, job=True)
    seen = log.line("back_in_use", 26, since=at(26)).evidence(found, 25)
    assert decided(node, seen.past, *passed)[0] == DRAIN
    unseen = Log().line("drained_by_others", 30, since=at(30)).evidence(found, 25)
    assert decided(node, unseen.past, *passed) == (NOTHING, messages.NO_FAIL.sentence), (
        "it may have been resumed after it"
    )
    again = seen.line("drained_by_others", 20, since=at(20))
    assert decided(node, again.past, *passed) == (NOTHING, messages.NO_FAIL.sentence), "drained and resumed once more"


def test_when_a_node_was_resumed_outlives_a_restart_of_slurmctld() -> None:
    """By Slurm's record it was resumed at 28, before the finding at 25; act ran at 24, and slurmctld, started anew, says 20."""
    found, later = ran("n1", "r1", WRONG, hours_ago=25), replace(state("n1"), fields=busy(20))
    others = Log().line("drained_by_others", 30, since=at(30))
    ours = Log().drain(30)
    resumed = {"n1": replace(state("n1"), fields=busy(28))}
    assert [*back_in_use(resumed, others.past, {}, at(24))] == [("n1", at(28))]
    assert [*resumed_by_others(resumed, ours.past, {}, at(24))] == [("n1", at(28))]
    as_job = {"n1": full("r0", 29, job=True)}
    assert [*back_in_use(resumed, others.past, as_job, at(24))] == [("n1", as_job["n1"][0].began)], "a job ran on it"
    assert [*back_in_use({"n1": state("n1")}, others.past, {}, at(24))] == [("n1", at(24))], "Slurm does not know"
    for log, action in ((others, "back_in_use"), (ours, "resumed_by_others")):
        log.evidence(found, 24).line(action, 24, since=at(28))
        assert decided(later, log.past)[0] == DRAIN, f"{action}: nobody has been there since it was found"


def test_a_health_check_that_finds_the_same_every_few_minutes() -> None:
    looks = [ran("n1", f"h{i}", ABSENT, hours_ago=h, check=HEALTH) for i, h in enumerate((9, 8.9, 8.8, 3))]
    nodes = cluster()
    first = decide(looks, nodes, POLICY, LogSummary(), NOW)
    assert [one.found_by.run for one in first.hard["n1"].new] == ["h0"]
    rebooted = cluster(n1=booted(state("n1"), 5))
    after = decide(looks, rebooted, POLICY, Log().evidence(looks[0], 9).past, NOW)
    assert [one.found_by.run for one in after.hard["n1"].new] == ["h3"], "still absent after the reboot"
    closed = Log().evidence(looks[0], 9).line("closed", 4, evidence=["0"], until=at(4)).past
    assert [one.found_by.run for one in decide(looks, nodes, POLICY, closed, NOW).hard["n1"].new] == ["h3"]


def test_findings_that_were_held_are_many_nodes_only_where_they_came_together() -> None:
    absent = [ran(f"n{i}", f"r{i}", replace(ABSENT, subject=f"g{i}"), hours_ago=400 * i) for i in (1, 2, 3)]
    apart = decide(absent, cluster(), POLICY, LogSummary(), NOW)
    assert apart.blamed == () and [d.action for d in apart.nodes].count(DRAIN) == 2
    together = [replace(run, started=at(400), ended=at(400)) for run in absent]
    assert [blame.nodes for blame in decide(together, cluster(), POLICY, LogSummary(), NOW).blamed] == [
        ("n1", "n2", "n3")
    ]


def test_many_nodes_at_once_stay_many_when_some_have_been_seen_to() -> None:
    """Else a word about two of four would drain the other two, which the same driver made look sick."""
    absent = [ran(f"n{i}", f"r{i}", replace(ABSENT, subject=f"g{i}"), hours_ago=2) for i in (1, 2, 3, 4)]
    lines = [Entry("evidence", "done", at(1.5), f"e{i}", f"n{i}", log_line(Evidence(run, run.failures[0])))
             for i, run in enumerate(absent, 1)]  # fmt: skip
    lines += [Entry("clear", "done", at(1), f"c{i}", f"n{i}", {}) for i in (1, 2)]
    decisions = decide(absent, cluster(), POLICY, summarize(lines), NOW)
    assert {d.node: d.action for d in decisions.nodes} == dict.fromkeys(("n1", "n2", "n3", "n4"), NOTHING)
    assert "nearfar slurm clear n3 --because WORDS, or drain it" in of(decisions, "n3")[1]
    lines += [Entry("clear", "done", at(0.5), f"d{i}", f"n{i}", {}) for i in (3, 4)]
    assert decide(absent, cluster(), POLICY, summarize(lines), NOW).blamed == (), "nobody is blamed for what is closed"


def closings(runs: Sequence[CheckRun], how: str) -> list[Entry]:
    """The log of hard evidence on some nodes that was closed an hour ago: by a person, or by a run that passed."""
    lines = []
    for run in runs:
        n, id_ = run.node, f"e-{run.node}"
        lines.append(Entry("evidence", "done", at(1.9), id_, n, log_line(Evidence(run, run.failures[0]))))
        if how == "clear":
            lines.append(Entry("clear", "done", at(1), f"c-{n}", n, {}))
        elif how == "release":
            lines.append(Entry("release", "done", at(1), f"c-{n}", n, {"why": "needed today"}))
        else:
            more = {
                "evidence": [id_],
                "until": at(1.5),
                "run": "r9",
                **({"passed": at(1)} if how == "a later act" else {}),
            }
            lines.append(Entry("closed", "done", at(0.1) if how == "a later act" else at(1), f"c-{n}", n, more))
    return sorted(lines, key=lambda line: line.at)


@pytest.mark.parametrize("how", ["clear", "release", "retest", "a later act"])
def test_what_was_closed_on_many_nodes_does_not_shield_the_next_one(how: str) -> None:
    """The incident is over; a fault of the same kind that is found later is that node's own."""
    absent = [ran(f"n{i}", f"r{i}", ABSENT, hours_ago=2) for i in range(1, 13)]
    past = summarize(closings(absent, how))
    assert decide(absent, cluster(24), POLICY, past, NOW).blamed == ()
    decisions = decide([*absent, ran("n20", "r20", ABSENT, hours_ago=0.5)], cluster(24), POLICY, past, NOW)
    assert of(decisions, "n20")[0] == DRAIN and decisions.blamed == ()
    assert [d.node for d in decisions.nodes if d.action == DRAIN] == ["n20"]


def test_many_that_lost_a_gpu_again_after_they_were_closed_are_many_again() -> None:
    absent = [ran(f"n{i}", f"r{i}", ABSENT, hours_ago=2) for i in range(1, 13)]
    again = [ran(f"n{i}", f"s{i}", ABSENT, hours_ago=0.5) for i in range(1, 13)]
    decisions = decide([*absent, *again], cluster(24), POLICY, summarize(closings(absent, "clear")), NOW)
    assert [len(blame.nodes) for blame in decisions.blamed] == [12] and decisions.nodes[0].action == NOTHING


@pytest.mark.parametrize("how", ["clear", "release"])
def test_a_figure_that_was_slow_everywhere_does_not_shield_the_next_one(how: str) -> None:
    """12 of 24 were slow and have been put right; measured again, the next one is slow alone."""
    slow = [ran(f"n{i}", f"r{i}", SLOW, hours_ago=h) for i in range(1, 13) for h in (26, 2)]
    slow = [replace(run, run=f"{run.run}-{run.ended}") for run in slow]
    past = summarize([Entry(how, "done", at(1), f"c{i}", f"n{i}", {"why": "w"}) for i in range(1, 13)])
    next_ = [ran("n20", "a", SLOW, hours_ago=0.8), ran("n20", "b", SLOW, hours_ago=0.2)]
    assert of(decide([*slow, *next_], cluster(24), POLICY, past, NOW), "n20")[0] == DRAIN
    assert of(decide([*slow, *next_], cluster(24), POLICY, LogSummary(), NOW), "n20")[0] == NOTHING, (
        "as long as it is open"
    )


def test_a_node_counts_once_against_the_cap_however_often_its_drain_was_begun() -> None:
    log = Log().evidence(FOUND, 49).drain(1, "begun")
    wrong = ran("n2", "r2", replace(WRONG, subject="g3:n0"))
    policy = replace(POLICY, per_day=DrainCap(2, 1.0), in_all=DrainCap(2, 1.0))
    decisions = decide([wrong], cluster(), policy, reconciled(log.past, SlurmView(cluster(), lambda: None)), NOW)
    assert [d.node for d in decisions.nodes if d.action == DRAIN] == ["n1", "n2"] and decisions.stop is None


def test_a_drain_by_others_from_before_the_finding_and_their_resume_after_it() -> None:
    log = Log().evidence(FOUND, 49)
    bad_fan = by(state("n1", "DRAIN", reason=FOREIGN), 60)
    nodes = cluster(n1=bad_fan)
    hard = {"n1": decide([], nodes, POLICY, log.past, NOW).hard["n1"].open}
    assert list(drained_by_others(nodes, hard, log.past)) == ["n1"]
    noted = log.line("drained_by_others", 40, since=at(40)).past
    assert list(drained_by_others(nodes, hard, noted)) == [], "once is enough"
    action, why = decided(state("n1"), noted)
    assert action == NOTHING and "somebody else had drained it by" in why and "it is in use again" in why
    assert decided(state("n1"), noted, *full("r2", 30))[1] == why, "a run of before the resume closes nothing"
    assert decided(replace(state("n1"), fields=busy(35)), noted, *full("r2", 30)) == (
        NOTHING,
        messages.NO_FAIL.sentence,
    )


def test_what_health_found_is_answered_by_the_topology_check() -> None:
    absent = ran("n1", "h1", ABSENT, hours_ago=50, check=HEALTH)
    log = Log().evidence(absent, 49)
    log.line(
        "drain",
        48,
        reason="nearfar: FAIL health g2 cell.absent run=h1",
        check=HEALTH,
        finding=ABSENT.to_raw(),
        run="h1",
    ).line("clear", 5)
    node = state("n1", "DRAIN", reason="nearfar: FAIL health g2 cell.absent run=h1")
    assert decided(node, log.past, *full("r2", 2)) == (RESUME, "topology_check passed in run r2")


def test_a_run_of_before_the_repair_closes_nothing_though_its_clock_was_ahead() -> None:
    """Measured an hour before the finding, by a clock that is seven hours ahead."""
    log = Log().evidence(FOUND, 49).past
    ahead = [replace(run, came=at(51)) for run in full("r2", 44)]
    assert ahead[0].started > at(46) and ahead[0].began < at(51)
    assert decided(booted(state("n1"), 46), log, *ahead)[0] == DRAIN


def test_a_run_of_before_the_resume_closes_nothing() -> None:
    """Measured outside Slurm on the drained node, well for once, and then somebody resumed it."""
    log = Log().evidence(FOUND, 49).drain(48).line("resumed_by_others", 20).past
    action, why = decided(state("n1"), log, *full("r2", 30))
    assert action == NOTHING and "a full run that passes closes it" in why
    assert decided(state("n1"), log, *full("r3", 10)) == (NOTHING, messages.NO_FAIL.sentence)


def test_what_is_found_again_after_a_resume_drains_again() -> None:
    """Slurm sets the time that a node was busy last when it is resumed: what was found later is new, before act came too."""
    looks = [ran("n1", f"h{i}", ABSENT, hours_ago=h, check=HEALTH) for i, h in enumerate((50, 21, 2))]
    log = Log().evidence(looks[0], 49)
    log.line(
        "drain",
        48,
        reason="nearfar: FAIL health g2 cell.absent run=h0",
        check=HEALTH,
        finding=ABSENT.to_raw(),
        run="h0",
    )
    node = replace(state("n1"), fields=busy(20))
    assert decided(node, log.past, *looks[:2])[0] == NOTHING, "during the repair"
    decisions = decide(looks, cluster(n1=node), POLICY, log.past, NOW)
    assert of(decisions, "n1")[0] == DRAIN and "run=h2" in str(decisions.nodes[0].reason)


def test_a_resume_closes_no_evidence_that_is_only_observed() -> None:
    policy = replace(POLICY, checks={"peer_check": DrainSteps("observe", "observe")})
    seen = ran("n1", "r5", WRONG, hours_ago=10, check="peer_check")
    log = Log().evidence(seen, 9)
    log.line("drain", 8, reason=OURS, check="host_device_check", finding=SLOW.to_raw(), run="r0")
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS))
    passed = ran("n1", "r6", passed=["sole.g2_n0"])
    assert of(decide([passed], nodes, policy, log.past, NOW), "n1")[0] == RESUME
    after = log.line("resume", 0.5).past
    assert code_of(decide([passed], cluster(), policy, after, NOW), "n1")[1] == "act.observed", "it is listed"


def test_a_drained_node_with_other_open_evidence_waits_for_a_word_about_it() -> None:
    seen = ran("n1", "r5", WRONG, hours_ago=10, check="peer_check")
    log = Log().line("drain", 12, reason=OURS, check="host_device_check", finding=SLOW.to_raw(), run="r0")
    log.evidence(seen, 9)
    nodes = cluster(n1=state("n1", "DRAIN", reason=OURS))
    with pytest.raises(NearfarError, match="nearfar slurm clear n1"):
        suspects(["n1"], {"n1": replace(nodes["n1"], fields={"CPUAlloc": "0"})}, log.past, POLICY, None)
    new = replace(nodes["n1"], reason="new", fields={"CPUAlloc": "0"})
    with pytest.raises(NearfarError, match="hard evidence; once"):
        suspects(["n1"], {"n1": new}, log.past, POLICY, "new")


def test_a_cleared_finding_stays_so_when_its_clock_was_ahead() -> None:
    """Its result was refused as one of the future when the person spoke; it came before."""
    found = replace(ran("n1", "r3", WRONG, hours_ago=1), came=at(9))
    assert decided(state("n1"), Log().line("clear", 5).past, found)[0] == NOTHING


def test_two_systems_in_one_log_do_not_act_on_each_others_evidence() -> None:
    log = Log().evidence(FOUND, 49)
    log.entries[0] = replace(log.entries[0], more={**log.entries[0].more, "system": "b"})
    assert set(summarize(log.entries, "b").evidence) == {"n1"} and summarize(log.entries, "a").evidence == {}


def test_evidence_of_a_node_that_slurm_has_no_more() -> None:
    named = replace(FOUND, node="zz", failures=(WRONG,))
    assert of(decide([named], cluster(), POLICY, LogSummary(), NOW), "zz")[1].startswith(
        "FAIL host_device g2:n0 cell.wrong_data"
    )
