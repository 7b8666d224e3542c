"""A node that dies while it is drained by us, on a real Slurm: told once, still ours, and back in use by its retest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.slurm.act import ActOptions, act, options, quarantine, view
from nearfar.slurm.findings import ActLog, CheckRun, SlurmView, deaths, reasons, reconciled, summarize
from nearfar.slurm.findings.gathering import of_sweep
from tests.support.acting import Site, prepared
from tests.support.node_results import leave
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    needed(root=True)
    settings = {"SlurmdTimeout": "6", "MessageTimeout": "3"}
    with (
        PrivateSlurm(cpus=1, gpus=0, nodes=2, settings=settings) as slurm,
        prepared(slurm, tmp_path, monkeypatch) as site,
    ):
        yield site


def told(site: Site, order: ActOptions) -> tuple[list[str], list[str]]:
    seen, _ = act.run(order, site.slurm)
    return list(seen.decisions.died), list(seen.decisions.up_again)


def test_told_once_and_ours_when_it_is_back(site: Site) -> None:
    order = ActOptions(options.read_policy("vm"), site.results, None, site.state)
    site.slow_twice("n2", "00000002", "00000003")
    assert told(site, order) == ([], [])
    site.private.run(["scontrol", "update", "nodename=n1", "state=drain", "reason=mine"])
    for name in ("n1", "n2"):
        site.private.kill_node(name)
    for name in ("n1", "n2"):
        site.slurm.wait(name, lambda node: node.dead, 120)
    site.private.run(["scontrol", "update", "nodename=n1", "state=resume"])
    assert not site.node("n1").drain, "status warns of that: it takes the drain away, and nothing has tested the node"
    site.private.start_node("n1")
    site.slurm.wait("n1", lambda node: node.idle, 60)
    ours = reasons.find(site.node("n2").reason)
    assert ours is not None and ours.run == "00000003", "Slurm keeps our reason, or appends to it"
    assert told(site, order) == (["n2"], [])
    assert told(site, order) == ([], [])
    seen = view.look(order, site.slurm)
    assert [(d.node, d.action, d.drained) for d in seen.decisions.nodes] == [("n2", "nothing", True)]
    site.private.start_node("n2")
    back = site.slurm.wait("n2", lambda node: "NOT_RESPONDING" not in node.flags, 60)
    assert (back.words, reasons.find(back.reason)) == ("DOWN+DRAIN", ours), "ReturnToService=1"
    assert told(site, order) == ([], ["n2"])
    assert told(site, order) == ([], [])
    said = [line for line in site.log("died", "up_again") if line[0] in ("died", "up_again")]
    assert said == [("died", "done", "n2"), ("up_again", "done", "n2")]

    def measure(names: object, reservation: str) -> list[CheckRun]:
        site.slurm.wait("n2", lambda node: node.base == "IDLE" and not node.drain, 30)
        leave(site.results, "n2", "00000010", at=time.time(), sweep="again")
        return list(of_sweep(site.results, "again", "vm", order.policy.trusted, time.time()).runs)

    log, nodes = ActLog(site.state), site.slurm.nodes()
    past = reconciled(summarize(log.entries()), SlurmView(nodes, site.slurm.started))
    these = quarantine.suspects(["n2"], deaths.with_our_reasons(nodes, past), past, order.policy, None)
    assert quarantine.retest(these, order.policy, site.slurm, log, measure).passed == ["n2"]
    assert site.slurm.wait("n2", lambda node: node.idle, 30).reason is None or not site.node("n2").out
