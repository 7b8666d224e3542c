"""The same on many nodes at once: the reference, the driver or the power, and no node; also once some of it is closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

import pytest

from nearfar.base import Finding
from nearfar.site import Policy
from nearfar.site.drain_policy import DrainCap
from nearfar.slurm.findings import SharedFault, blamed
from nearfar.slurm.ledger import CheckRun, Evidence

HOUR = 3600.0
NOW = 1_800_000_000.0
POLICY = Policy("s", same_metric=DrainCap(3, 0.2))
ABSENT = Finding("g2", "FAIL", "GPU 2 is absent", True, "cell.absent")
SLOW = Finding("sole.g2_n0", "FAIL", "slow", fields={"value": 27.1, "limit": 52.6})
TESTED = {"host_device_check": {f"n{i}" for i in range(1, 13)}}


def on(
    nodes: Iterable[int], finding: Finding = ABSENT, hours_ago: float = 2, closed: float = inf
) -> dict[str, list[Evidence]]:
    """What was found on some nodes, on each of another part; ``closed``: so many hours ago."""
    at = NOW - hours_ago * HOUR
    return {
        f"n{i}": [Evidence(
            CheckRun(f"n{i}", "host_device_check", f"r{i}", at, at, "FAIL"), replace(finding, subject=finding.subject.replace("2", str(i))),
            closed_at=inf if closed == inf else NOW - closed * HOUR,
        )]
        for i in nodes
    }  # fmt: skip


def nodes(*found: dict[str, list[Evidence]]) -> list[tuple[str, ...]]:
    whole: dict[str, list[Evidence]] = {}
    for each in found:
        for node, these in each.items():
            whole.setdefault(node, []).extend(these)
    return [fault.nodes for fault in blamed(whole, TESTED, POLICY)]


@pytest.mark.parametrize("finding", [ABSENT, SLOW], ids=["hard", "slow"])
def test_whichever_part_it_is_on_each_node(finding: Finding) -> None:
    [fault] = blamed(on((1, 2, 3), finding), TESTED, POLICY)
    assert isinstance(fault, SharedFault) and "on 3 of 12 nodes at once" in fault.words
    assert (fault.nodes, fault.hard) == (("n1", "n2", "n3"), finding.hard)
    assert nodes(on((1, 2), finding)) == []


def test_wrong_data_is_every_node_s_own() -> None:
    assert nodes(on(range(1, 13), replace(ABSENT, code="cell.wrong_data"))) == []


def test_only_what_came_together() -> None:
    apart = [on([i], hours_ago=400 * i) for i in (1, 2, 3)]
    assert nodes(*apart) == [] and nodes(*(on([i], hours_ago=10 * i) for i in (1, 2, 3))) == [("n1", "n2", "n3")]


def test_many_stay_many_when_some_are_closed() -> None:
    """Else a word about two of four would drain the other two, which the same driver made look sick."""
    assert nodes(on((1, 2), closed=1), on((3, 4))) == [("n1", "n2", "n3", "n4")]
    assert nodes(on((1, 2, 3, 4), closed=1)) == [], "nobody is blamed for what is closed"


def test_what_is_over_does_not_shield_the_next_one() -> None:
    before = on(range(1, 12), closed=1)
    assert nodes(before, on([12], hours_ago=0.5)) == [], "found after it was closed, it is that node's own"
    assert nodes(before, on(range(1, 12), hours_ago=0.5)) == [tuple(sorted(before))], "all of them again are many again"
