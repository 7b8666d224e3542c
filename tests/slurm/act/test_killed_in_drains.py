"""No hard finding is lost, whatever ends ``act`` in the middle of a drain, and the next call fills the cap; on a real Slurm."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.support.acting import Site, instead_of_scontrol
from tests.support.node_results import leave

pytestmark = pytest.mark.slurm


def killed(site: Site, after: float | None = None, in_drain: int = 0) -> None:
    """Run ``act`` in a child that is killed after some seconds (None: by what it calls), counted from where it begins its drain
    number ``in_drain`` (0: from its start)."""
    before = len(site.log())
    child = os.fork()
    if child == 0:
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        try:
            site.act()
        finally:
            os._exit(0)
    if after is not None:
        end = time.monotonic() + 3
        while (
            time.monotonic() < end
            and len(site.log()) < before + in_drain
            and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        ):
            time.sleep(0.002)
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def ours(site: Site) -> set[str]:
    return {n for n, s in site.slurm.nodes().items() if s.drain and str(s.reason).startswith("nearfar: FAIL")}


@pytest.mark.parametrize("update", ["kill -9 $PPID; exit 1", "exit 1", '"$REAL" "$@"; kill -9 $PPID; exit 1'],
                         ids=["killed before the write", "slurmctld away", "killed after the write"])  # fmt: skip
def test_a_drain_that_was_begun_and_not_confirmed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: str
) -> None:
    leave(site.results, "n3", "00000001", at=site.now - 60, wrong="wrong data")
    with monkeypatch.context() as patch:
        patch.setenv("REAL", str(shutil.which("scontrol", path=site.private.environment["PATH"])))
        instead_of_scontrol(site, tmp_path / "bin", patch, update)
        killed(site)
    assert site.log() in ([("drain", "begun", "n3")], [("drain", "unclear", "n3")])
    assert site.act() == 0
    assert site.node("n3").drain
    assert site.node("n3").reason == "nearfar: FAIL host_device g2:n0 cell.wrong_data run=00000001"
    assert [outcome for _, outcome, _ in site.log() if outcome == "done"] == ["done"], "drained once"


def test_drains_that_slurmctld_had_not_saved_when_it_was_killed(site: Site) -> None:
    leave(site.results, "n2", "00000102", at=site.now - 60, wrong="wrong data")
    assert site.act() == 0 and site.node("n2").drain
    site.private.kill_controller()
    time.sleep(1.1)
    site.private.start_controller()
    site.slurm.wait("n2", lambda node: node.base == "IDLE" and "NOT_RESPONDING" not in node.flags, 30)
    leave(site.results, "n2", "00000112", at=time.time())
    assert site.act() == 0
    assert site.node("n2").drain, "nobody has resumed it, and the run that passed closes nothing"


@pytest.mark.parametrize("part", range(2))
def test_the_next_call_fills_the_cap(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Five nodes with wrong data, a cap of three, and a scontrol that takes its time: killed at any moment of any drain."""
    real = shutil.which("scontrol", path=site.private.environment["PATH"])
    slow = f'sleep 0.03; {real} "$@"; code=$?; sleep 0.03; exit $code'
    instead_of_scontrol(site, tmp_path / "bin", monkeypatch, slow)
    chance, begun = random.Random(part), 0
    for number in range(20):
        shutil.rmtree(site.results)
        site.results.mkdir()
        shutil.rmtree(site.state, ignore_errors=True)
        for node in range(1, 6):
            leave(site.results, f"n{node}", f"{number:07x}{node}", at=time.time(), wrong="wrong data", took=0.0)
        site.private.run(["scontrol", "update", "nodename=n6", "state=drain", "reason=mine"])
        killed(site, chance.uniform(0.0, 0.1), in_drain=number % 4)
        after = ours(site)
        begun += ("drain", "begun") in {entry[:2] for entry in site.log()}
        assert len(after) <= 3 and site.node("n6").reason == "mine"
        assert site.act() == 3
        assert len(ours(site)) == 3 and after <= ours(site), f"kill {number}: {sorted(after)}, {site.log()}"
        assert site.act() == 3 and len(ours(site)) == 3
        site.private.run(["scontrol", "update", "nodename=n[1-6]", "state=resume"])
        for name in site.private.names:
            site.slurm.wait(name, lambda node: node.idle, 30)
    assert begun > 4, "no kill fell into a drain: the test shows nothing"


def test_forty_kills_lose_nothing(site: Site, tmp_path: Path) -> None:
    """Wrong data is found, drained and cleared over and over while ``act`` and ``clear`` are killed at any moment of it."""
    file = tmp_path / "site" / "systems" / "vm.yaml"
    many = "{nodes: 999, share: 1.0}"
    file.write_text(
        f'system: vm\nhosts: ["n[1-6]"]\nact:\n  default: drain\n  trusted: [{os.geteuid()}]\n'
        f"  cap: {{per_day: {many}, in_all: {many}, available: {{share: 0.0}}}}\npartitions:\n  - name: gpu\n"
    )
    chance, wrong, begun = random.Random(11), set(), 0
    free: dict[str, float] = {}
    for number in range(40):
        node = chance.choice(site.private.names)
        if node not in wrong:
            # Times of results are whole seconds: a run is not to begin in the second in which the node was cleared.
            if int(time.time()) > free.get(node, 0.0):
                site.slurm.wait(node, lambda node: node.idle, 30)
                wrong.add(node)
                leave(site.results, node, f"{number:08x}", at=time.time(), wrong="wrong data", took=0.0)
        elif site.node(node).drain:
            assert site.run("clear", node, "--because", "repaired") == 0
            wrong.remove(node)
            free[node] = time.time()
        killed(site, after=chance.uniform(0.0, 0.04 if number % 4 else 0.25), in_drain=bool(number % 4))
        begun += ("drain", "begun") in {entry[:2] for entry in site.log()}
        assert ours(site) <= wrong, f"kill {number}: {ours(site) - wrong} were repaired and are drained again"
        if not number % 5:
            assert site.act() == 0
            assert ours(site) == wrong, f"kill {number}: {site.log()[-6:]}"
    assert site.act() == 0 and ours(site) == wrong
    assert begun > 2, "no kill fell into a drain: the test shows nothing"
    assert "begun" not in {outcome for _, outcome, _ in site.log()}
