"""A node that dies while it is drained by us, on a real Slurm: still ours, and back in use by its retest."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nearfar.slurm.act import ActOptions, repairs
from nearfar.slurm.drains import reasons
from nearfar.slurm.findings import runs_of_sweep
from nearfar.slurm.ledger import CheckRun
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


def test_ours_when_it_is_back(site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def shown() -> str:
        site.run("status", "n2")
        return " ".join(capsys.readouterr().out.split())

    site.slow_twice("n2", "00000002", "00000003")
    assert site.act() == 0
    site.private.kill_node("n2")
    site.slurm.wait("n2", lambda node: node.dead, 120)
    ours = reasons.find(site.node("n2").reason)
    assert ours is not None and ours.run == "00000003", "Slurm keeps our reason, or appends to it"
    assert site.act() == 0 and len(site.log()) == 1
    assert "check its console and power-cycle it" in shown()
    site.private.start_node("n2")
    back = site.slurm.wait("n2", lambda node: "NOT_RESPONDING" not in node.flags, 60)
    assert (back.words, reasons.find(back.reason)) == ("DOWN+DRAIN", ours), "ReturnToService=1"
    assert site.act() == 0 and "power-cycle" not in shown()

    def measure(
        level: str, partition: str, names: Sequence[str], reservation: str, options: ActOptions, tell: object
    ) -> Sequence[CheckRun]:
        site.slurm.wait("n2", lambda node: node.base == "IDLE" and not node.drain, 30)
        leave(site.results, "n2", "00000010", at=time.time(), sweep="again")
        return runs_of_sweep(site.results, "again", options.policy, time.time())[0]

    monkeypatch.setattr(repairs, "_measure", measure)
    assert site.run("retest", "n2") == 0
    site.slurm.wait("n2", lambda node: node.idle, 30)
    assert site.act() == 0 and site.drained() == []
