"""What holds of the states of all nodes, whatever comes: everything is drawn, the rules are stated anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from math import floor, inf

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base import Finding
from nearfar.site import Policy
from nearfar.site.drain_policy import AvailableFloor, DrainCap, DrainSteps
from nearfar.slurm.act.judge_nodes import Facts, judge
from nearfar.slurm.act.node_states import DRAIN, HELD, NOTHING, STATES, Fleet
from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import drained_by_us, our_reason, reasons
from nearfar.slurm.ledger import CheckRun, Evidence, LedgerAction, Past, actions
from nearfar.slurm.ledger.runs import LastVerdict

HOUR = 3600.0
NOW = 1_800_000_000.0
OURS = "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=r0"
NAMES = [f"n{i}" for i in range(1, 9)]
SLOW = Finding(
    "sole.g2_n0",
    "FAIL",
    "slow",
    fields={"cell": "g2:n0", "class": "sole", "value": 27.1, "limit": 52.6, "unit": "GB/s"},
)
WRONG = Finding("g2:n0", "FAIL", "wrong data", True, "cell.wrong_data")
FINDINGS = st.sampled_from(
    [SLOW, WRONG, replace(SLOW, subject="sole.n0_g1"), Finding("g1", "FAIL", "absent", True, "gpu.missing")]
)
HOURS = st.sampled_from([0.1, 1, 5, 12, 30, 48])


@st.composite
def check_runs(draw: st.DrawFn) -> CheckRun:
    failures = tuple(draw(st.lists(FINDINGS, max_size=2, unique_by=lambda each: each.subject)))
    verdict = "FAIL" if failures else draw(st.sampled_from(["PASS", "DEGRADED", "INDETERMINATE"]))
    ended, names = NOW - draw(HOURS) * HOUR, {each.subject for each in failures}
    passed = frozenset(draw(st.lists(st.sampled_from(["sole.g2_n0", "sole.n0_g1"])))) - names
    return CheckRun(
        draw(st.sampled_from(NAMES)), draw(st.sampled_from(["host_device_check", "peer_check"])), draw(st.sampled_from("abcdef")),
        ended - 60, ended, verdict, failures, passed,
    )  # fmt: skip


REASONS = st.sampled_from([None, None, OURS, "ticket 12", "nearfar: by hand"])


@st.composite
def states(draw: st.DrawFn) -> dict[str, NodeState]:
    found = {}
    for name in NAMES:
        flags = draw(st.sampled_from([(), (), ("DRAIN",), ("NOT_RESPONDING",), ("PLANNED",)]))
        base, reason = draw(st.sampled_from(["IDLE", "MIXED", "DOWN", "UNKNOWN"])), draw(REASONS)
        at = None if reason is None else datetime.fromtimestamp(NOW - draw(HOURS) * HOUR, timezone.utc)
        found[name] = NodeState(name, base, frozenset(flags), reason, reason_at=at, partitions=("gpu",))
    return found


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    known = {
        name: LedgerAction(
            1, NOW - draw(HOURS) * HOUR, actions.DRAIN, name, draw(st.sampled_from([actions.DONE, actions.BEGUN])), OURS,
            check="host_device_check", finding=SLOW,
        )
        for name in NAMES
        if draw(st.booleans())
    }  # fmt: skip
    done = {name: each.at for name, each in known.items() if each.outcome == actions.DONE}
    return Past(known, done, {}, {}, {}, {})


def judged(policy: Policy, nodes: Mapping[str, NodeState], past: Past, runs: Sequence[CheckRun]) -> Fleet:
    of_node = {name: [run for run in runs if run.node == name] for name in NAMES}
    evidence = {
        name: [Evidence(run, f, stands=True, why="hard", closed_at=inf) for run in these for f in run.failures if f.hard]
        for name, these in of_node.items()
    }  # fmt: skip
    last = {
        name: [LastVerdict(r.check, r.run, r.verdict, "", r.known) for r in these] for name, these in of_node.items()
    }
    return judge(Facts(policy, NOW, nodes, past, evidence, of_node, last, {}, NAMES))


GIVEN = (st.lists(check_runs(), max_size=14), states(), pasts())
QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUIET
@given(*GIVEN, st.sampled_from([1, 2, 8]), st.sampled_from([0.1, 0.5, 1.0]), st.sampled_from([0.0, 0.5]))
def test_what_always_holds(
    runs: list[CheckRun], nodes: dict[str, NodeState], past: Past, most: int, share: float, left: float
) -> None:
    cap = DrainCap(most, share)
    policy = Policy(
        "s",
        default=DrainSteps("drain", "drain"),
        per_day=cap,
        in_all=cap,
        same_metric=DrainCap(4, 0.5),
        available=AvailableFloor(left),
    )
    fleet = judged(policy, nodes, past, runs)
    assert [*fleet.nodes] == sorted(NAMES) and {each.state for each in fleet.nodes.values()} <= {*STATES}
    drains = {name for name, each in fleet.nodes.items() if each.action == DRAIN}
    ours = {name for name, state in nodes.items() if drained_by_us(state)}
    lately = drains | {name for name, at in past.drained_at.items() if NOW - at < 24 * HOUR}
    allowed = min(most, max(1, floor(share * len(NAMES) + 1e-9)))
    assert not drains or (len(drains | ours) <= allowed and len(lately) <= allowed), "above the cap"
    usable = {name for name, state in nodes.items() if state.usable}
    assert not drains & usable or len(usable - drains) >= policy.floor.of(len(NAMES)), "below the floor"
    for name, each in fleet.nodes.items():
        before = nodes[name]
        if each.action == DRAIN:
            assert before.why_out is None and not before.out and before.base != "UNKNOWN"
            assert each.evidence is not None and reasons.read(each.reason) is not None
            finding, check = each.evidence.finding, each.evidence.found_by.check
            failing = {
                r.run
                for r in runs
                if (r.node, r.check) == (name, check) and finding.subject in {f.subject for f in r.failures}
            }
            assert finding.hard or len(failing) > 1, "drained for a speed that was seen once"
        wrong = any(f.code == WRONG.code for run in runs if run.node == name for f in run.failures)
        if wrong and before.usable and our_reason(before) is None:
            assert each.state == HELD or each.action == DRAIN, "wrong data is drained, or held and told"


@QUIET
@given(*GIVEN)
def test_runs_that_could_not_be_judged_never_act(runs: list[CheckRun], nodes: dict[str, NodeState], past: Past) -> None:
    unjudged = [replace(run, verdict="INDETERMINATE", failures=(), passed=frozenset()) for run in runs]
    fleet = judged(Policy("s", default=DrainSteps("drain", "drain")), nodes, past, unjudged)
    assert {each.action for each in fleet.nodes.values()} <= {NOTHING}


@QUIET
@given(*GIVEN)
def test_a_site_that_says_nothing_is_only_observed(
    runs: list[CheckRun], nodes: dict[str, NodeState], past: Past
) -> None:
    assert not {each.action for each in judged(Policy("s"), nodes, past, runs).nodes.values()} & {DRAIN}
