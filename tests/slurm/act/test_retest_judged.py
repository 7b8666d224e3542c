"""What a retest has to show: the check that drained the node passed, and a full run covers what is open of hard evidence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from nearfar.base import Finding
from nearfar.site import HEALTH, Policy
from nearfar.site.drain_policy import DrainSteps
from nearfar.slurm.act import repairs
from nearfar.slurm.act.repairs import Suspect, covered
from nearfar.slurm.ledger import CheckRun, Evidence, LedgerAction, actions

NOW = time.time()
POLICY = Policy("s", default=DrainSteps("drain", "drain"), checks={"peer_check": DrainSteps("observe", "observe")})
REASON = "nearfar: FAIL host_device g2:n0 cell.wrong_data run=r1"
NAME = "sole.g2_n0"
SLOW = Finding(
    NAME, "FAIL", "slow", fields={"cell": "g2:n0", "class": "sole", "value": 27.1, "limit": 52.6, "unit": "GB/s"}
)
WRONG = Finding("g2:n0", "FAIL", "wrong data", True, "cell.wrong_data")
ABSENT = Finding("g2", "FAIL", "GPU 2 is absent", True, "gpu.missing")


def ran(check: str, *failures: Finding, verdict: str = "", **more: Any) -> CheckRun:
    found: dict[str, Any] = {
        "passed": frozenset([NAME]), "cells": frozenset(["g2:n0"]), "level": "accept", "verdict": "FAIL" if failures else "PASS",
    }  # fmt: skip
    found |= {**({"verdict": verdict} if verdict else {}), **more}
    return CheckRun("n1", check, "r2", NOW - 60, NOW, failures=failures, **found)


#: A full run that passes: two checks.
FULL = [ran("host_device_check"), ran("topology_check")]


def evidence(finding: Finding = WRONG, check: str = "host_device_check") -> Evidence:
    return Evidence(CheckRun("n1", check, "r1", 0.0, 60.0, "FAIL", (finding,)), finding)


@pytest.mark.parametrize(
    ("runs", "by"),
    [
        (FULL, True),
        ([], False),
        ([replace(run, cells=frozenset(["g1:n0"])) for run in FULL], False),  # it left the part out
        ([replace(run, level="quick") for run in FULL], False),
        ([FULL[0], replace(FULL[1], verdict="INDETERMINATE")], False),  # half a run
        ([FULL[0], replace(FULL[1], verdict="FAIL")], False),
    ],
)  # fmt: skip
def test_what_covers_hard_evidence(runs: Sequence[CheckRun], by: bool) -> None:
    assert covered(evidence(), runs) is by


def test_what_health_found_is_covered_by_the_topology_check() -> None:
    assert covered(evidence(ABSENT, HEALTH), FULL) and not covered(evidence(ABSENT, HEALTH), FULL[:1])


def judged(
    *runs: CheckRun, finding: Finding = SLOW, open_: Sequence[Evidence] = (), delivered: bool = False
) -> tuple[bool, str]:
    """Whether the node passes, and why."""
    known = LedgerAction(1, 1.0, actions.DRAIN, "n1", reason=REASON, check="host_device_check", finding=finding)
    drained = None if delivered else known
    drain, why = repairs.judge(Suspect("n1", REASON, drained, open_), runs, POLICY)
    return drain is None, why


def test_a_node_that_was_drained_for_a_figure() -> None:
    assert judged(*FULL) == (True, "host_device_check passed in run r2")
    for runs, why in (
        ([], "it left no result that counts"),
        ([FULL[1]], "host_device_check has not run since"),
        ([replace(FULL[0], passed=frozenset())], "did not judge sole.g2_n0"),
        ([replace(FULL[0], verdict="INDETERMINATE")], "was INDETERMINATE in run r2"),
        ([ran("host_device_check", SLOW)], "drained again: slow"),
        ([*FULL, ran("topology_check", ABSENT)], "drained again: GPU 2 is absent"),
    ):
        passed, said = judged(*runs)
        assert not passed and why in said
    assert judged(*FULL, ran("peer_check", WRONG))[0], "the system file lets nearfar only observe what that check finds"


def test_what_keeps_a_full_run_from_passing_is_named() -> None:
    """As on a site's first days, without references."""
    passed, why = judged(*FULL, ran("host_memory_check", verdict="INDETERMINATE"), open_=[evidence()])
    assert (
        not passed
        and "but host_memory_check did not pass, and host_device_check g2:n0 needs a full run that does" in why
    )


def test_open_hard_evidence_has_to_be_covered_too() -> None:
    assert judged(*FULL, open_=[evidence()])[0]
    passed, why = judged(*(replace(run, level="quick") for run in FULL), open_=[evidence()])
    assert not passed and "no full run covers host_device_check g2:n0: drained as before" in why


def test_a_delivered_node_passes_by_every_check() -> None:
    assert judged(*FULL, delivered=True) == (True, "accepted: every check passed")
    assert judged(*FULL, ran("peer_check", WRONG), delivered=True) == (False, "drained again: wrong data")
    assert not judged(*FULL, ran("peer_check", verdict="INDETERMINATE"), delivered=True)[0]
