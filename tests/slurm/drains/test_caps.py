"""How many nodes may be drained: the site's caps for a day and in all, and what has to stay usable in each partition."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearfar.base import NearfarError, SiteFile
from nearfar.site import Policy, drain_policy
from nearfar.site.drain_policy import AvailableFloor, DrainCap, FlapRule
from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import DrainCaps

NOW = 1_800_000_000.0
OURS = "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=r0"
ROOMY = Policy("s", per_day=DrainCap(99, 1.0), in_all=DrainCap(99, 1.0), available=AvailableFloor(0.75))
NO_FLOOR = AvailableFloor(0.0)


def state(name: str, *flags: str, base: str = "IDLE", reason: str | None = None, hours_ago: float = 0.0) -> NodeState:
    given_ = datetime.fromtimestamp(NOW - hours_ago * 3600, timezone.utc) if reason else None
    return NodeState(name, base, frozenset(flags), reason, reason_at=given_, partitions=("gpu",))


def cluster(count: int = 20, **others: NodeState) -> dict[str, NodeState]:
    return {**{f"n{i}": state(f"n{i}") for i in range(1, count + 1)}, **others}


def objection(nodes: dict[str, NodeState], policy: Policy, node: str, **known: float) -> str | None:
    found = DrainCaps(nodes, policy, NOW, known).objection(node)
    return None if found is None else found.reason


def drains(hours_ago: float, *names: str) -> dict[str, NodeState]:
    return {name: state(name, "DRAIN", reason=OURS, hours_ago=hours_ago) for name in names}


def test_a_day_s_drains_are_those_of_slurm_and_of_the_ledger() -> None:
    policy = replace(ROOMY, per_day=DrainCap(2, 1.0), available=NO_FLOOR)
    assert objection(cluster(), policy, "n9") is None
    assert objection(cluster(**drains(1, "n1")), policy, "n9") is None
    assert "no more than 2 drained within a day" in str(objection(cluster(**drains(1, "n1", "n2")), policy, "n9"))
    assert objection(cluster(**drains(25, "n1", "n2")), policy, "n9") is None
    assert objection(cluster(**drains(1, "n1")), policy, "n9", n2=NOW - 3600) is not None, "though it was resumed since"
    assert objection(cluster(**drains(1, "n1")), policy, "n9", n1=NOW - 3600) is None, "a node counts once"
    edited = cluster(n1=state("n1", "DRAIN", reason="ticket 12"), **drains(1, "n2"))
    assert objection(edited, policy, "n9", n1=NOW - 3600) is not None, "though its reason was edited"


def test_drains_in_all_of_a_partition_and_of_the_cluster() -> None:
    old = drains(99, "n1", "n2")
    assert "no more than 2 drained in all" in str(
        objection(cluster(**old), replace(ROOMY, in_all=DrainCap(2, 1.0), available=NO_FLOOR), "n9")
    )
    share = replace(ROOMY, in_all=DrainCap(9, 0.1), available=NO_FLOOR)
    assert "2 of the 20 nodes of partition gpu drained in all" in str(objection(cluster(**old), share, "n9"))
    other = {**cluster(**old), "m1": replace(state("m1"), partitions=("other",))}
    assert objection(other, share, "m1") is None, "one node of each partition may go"


def test_nodes_that_others_have_out_count_for_the_floor() -> None:
    """Five of twenty are out, three by others; a quarter may be."""
    nodes = cluster(
        **drains(99, "n1", "n2"), n3=state("n3", base="DOWN"), n4=state("n4", "DRAIN", reason="bad DIMM"), n5=state("n5", "NOT_RESPONDING"),
    )  # fmt: skip
    words = "partition gpu: 5 of 20 nodes are already out, 3 of them not by nearfar; at least 15 must stay"
    assert objection(nodes, ROOMY, "n9") == words
    assert objection({**nodes, "n3": state("n3")}, ROOMY, "n9") is None
    assert objection(nodes, ROOMY, "n5") is None, "one that is not usable takes nothing away"


@settings(deadline=None, max_examples=200)
@given(
    size=st.integers(1, 30), others=st.sets(st.integers(1, 30)), failing=st.sets(st.integers(1, 30)),
    share=st.floats(0, 1), nodes=st.integers(0, 5),
)  # fmt: skip
def test_no_drain_of_ours_leaves_fewer_than_the_floor(
    size: int, others: set[int], failing: set[int], share: float, nodes: int
) -> None:
    policy = replace(ROOMY, available=AvailableFloor(share, nodes))
    fleet = {f"n{i}": state(f"n{i}", base="DOWN" if i in others else "IDLE") for i in range(1, size + 1)}
    caps = DrainCaps(fleet, policy, NOW)
    wanted = [f"n{i}" for i in failing if i <= size and fleet[f"n{i}"].usable]
    drained = []
    for name in wanted:
        if caps.objection(name) is None:
            caps.add(name)
            drained.append(name)
    usable, least = sum(node.usable for node in fleet.values()), policy.floor.of(size)
    assert usable - len(drained) >= min(usable, least)
    assert len(drained) == len(wanted) or usable - len(drained) - 1 < least, "nobody is held for nothing"


@pytest.mark.parametrize(
    ("given_", "in_all", "size", "least"),
    [
        (None, 0.1, 20, 16), (None, 0.1, 4, 3), (None, 0.1, 1, 0), (None, 0.1, 1000, 800), (None, 0.6, 20, 0),
        (AvailableFloor(1.0), 0.1, 20, 19), (AvailableFloor(0.9, 2), 0.1, 2, 2), (AvailableFloor(0.29), 0.1, 100, 29),
    ],
)  # fmt: skip
def test_how_many_must_stay(given_: AvailableFloor | None, in_all: float, size: int, least: int) -> None:
    """By default as many may be out by others as nearfar may drain."""
    assert Policy("s", in_all=DrainCap(8, in_all), available=given_).floor.of(size) == least


def policy_of(folder: Path, act: str) -> Policy:
    path = folder / "s.yaml"
    path.write_text(f"system: s\nact: {act}\npartitions: [{{name: gpu}}]\n")
    file = SiteFile(path)
    file.check("system-1")
    return drain_policy.of_system(file)


def test_in_the_system_file(tmp_path: Path) -> None:
    assert policy_of(tmp_path, "{}").floor == AvailableFloor(0.8)
    both = policy_of(tmp_path, "{cap: {in_all: {nodes: 8, share: 0.2}, available: {nodes: 3}}}")
    assert (both.floor.nodes, round(both.floor.share, 9)) == (3, 0.6)
    for wrong in ("{share: 1.5}", "{nodes: -1}", "{share: most}", "{shere: 0.5}"):
        with pytest.raises(NearfarError, match=r"s\.yaml:2"):
            policy_of(tmp_path, f"{{cap: {{available: {wrong}}}}}")
    assert policy_of(tmp_path, "{}").flaps == FlapRule(2, 86400.0)
    assert policy_of(tmp_path, "{flaps: {drains: 3, within: 7d}}").flaps == FlapRule(3, 7 * 86400.0)


def test_a_cap_that_is_never_reached_is_told(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"

    def told(cap: str) -> list[str]:
        path.write_text(f"system: s\nact:\n  cap:\n    {cap}\n")
        return [str(problem) for problem in drain_policy.unreached(SiteFile(path))]

    (words,) = told("available: {share: 0.95}")
    assert words == (
        f"{path}:4: act: cap: available leaves 0.05 of a partition to all nodes that are out of use, "
        "less than the 0.1 of in_all, which is then never reached"
    )
    assert not told("available: {share: 0.9}") and not told("available: {nodes: 3}")
