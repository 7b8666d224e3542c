"""Random histories of findings, repairs and people against a simple model: no hard finding is lost, nothing foreign is touched."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar.site.drain_policy import DrainCap, DrainSteps, Policy
from nearfar.slurm.act import ActOptions, act, clear
from nearfar.slurm.act.decide import DRAIN
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.findings import gathering
from nearfar.slurm.health import kept_looks
from tests.support.fake_slurm import FakeSlurm
from tests.support.node_results import leave, utc

NODES = ("n1", "n2")
POLICY = Policy(
    "vm", frozenset({os.geteuid()}), default=DrainSteps("drain", "drain"), per_day=DrainCap(99, 1.0), in_all=DrainCap(99, 1.0),
    same_metric=DrainCap(9, 1.0),
)  # fmt: skip
#: What may happen, the frequent ones more than once.
EVENTS = (
    "wrong",
    "wrong",
    "health",
    "pass",
    "pass",
    "quick",
    "reboot",
    "act",
    "act",
    "act",
    "resume",
    "drain",
    "free",
    "clear",
    "tidy",
    "death",
    "return",
    "cycle",
)
FOREIGN = "ticket 12"


class World:
    """Two nodes, their results, and what the model knows: of each open finding whether somebody, or a reboot, has been there."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance, self.now, self.count = random.Random(seed), time.time(), 0
        self.slurm = FakeSlurm(NODES, keeps=bool(seed % 2))
        self.results, self.health = folder / "results", folder / "health"
        self.results.mkdir(parents=True)
        self.health.mkdir()
        self.order = ActOptions(POLICY, self.results, self.health if os.geteuid() == 0 else None, folder / "state")
        self.open: dict[str, dict[str, float | None]] = {name: {} for name in NODES}
        self.log: list[tuple[str, str]] = []
        #: When act drained each node since a person's word, once for each time that it had been in use; who died and was not told.
        self.drains: dict[str, list[float]] = {name: [] for name in NODES}
        self.untold: set[str] = set()

    def step(self) -> None:
        self.now += self.chance.choice((120, 1200, 3600, 7200))
        self.count += 1
        event, node = self.chance.choice(EVENTS), self.chance.choice(NODES)
        self.log.append((event, node))
        getattr(self, f"on_{event}")(node)

    def run(self) -> str:
        return f"{self.count:08x}"

    def seen_to(self, node: str) -> None:
        self.open[node] = {run: self.now if at is None else at for run, at in self.open[node].items()}

    def on_wrong(self, node: str) -> None:
        leave(self.results, node, self.run(), at=self.now, wrong="wrong data", speed=None, took=60)
        self.open[node][self.run()] = None

    def on_health(self, node: str) -> None:
        """A GPU is absent in one look, and back in the next."""
        if self.order.health is None:
            return
        for more, words in ((0, "GPU 2 is absent"), (30, "")):
            run, at = f"{self.count:04x}{more:04x}", self.now + more
            found = [{"subject": "g2", "verdict": "FAIL", "hard": True, "reason": words}] if words else []
            look: dict[str, Any] = {
                "schema": "nearfar-health/1", "run": run, "node": node, "hostname": node, "system": "vm", "partition": "gpu",
                "time": utc(at), "boot": None, "seconds": 0.3, "verdict": "FAIL" if words else "PASS", "findings": found, "last": None,
            }  # fmt: skip
            kept_looks.store(self.health, look, "")
            for path in (self.health / f"{node}.json", self.health / "kept" / node / kept_looks.name(look)):
                if path.exists():
                    os.utime(path, (at, at))
        self.open[node][f"{self.count:04x}0000"] = None
        self.now += 60

    def on_pass(self, node: str, level: str = "nightly") -> None:
        job = None if self.slurm.node(node).drain else 1
        # It stands for a full run: its check looks at the parts, and measures the cell.
        leave(self.results, node, self.run(), at=self.now, took=60, job=job, check="topology_check", level=level)
        if level == "nightly":
            began = int(self.now - 60)
            self.open[node] = {run: at for run, at in self.open[node].items() if at is None or at >= began}

    def on_quick(self, node: str) -> None:
        self.on_pass(node, "quick")

    def on_reboot(self, node: str) -> None:
        self.slurm.reboot(node)
        self.seen_to(node)

    def on_death(self, node: str) -> None:
        state = self.slurm.node(node)
        if state.base != "DOWN" and state.drain:
            self.slurm.die(node)
            self.untold |= {node} if str(state.reason).startswith("nearfar:") else set()

    def on_return(self, node: str) -> None:
        if self.slurm.node(node).dead:
            self.slurm.come_back(node)
            self.untold.discard(node)

    def on_cycle(self, node: str) -> None:
        """A fault that comes again after each reboot."""
        for _ in range(2):
            for step in (self.on_health, self.on_act, self.on_reboot, self.on_pass, self.on_act):
                self.now += 600
                self.count += 1
                step(node)

    def on_resume(self, node: str) -> None:
        if self.slurm.node(node).dead:
            return
        if self.slurm.node(node).drain and self.slurm.node(node).reason != FOREIGN:
            self.slurm.resume(node)
            self.seen_to(node)

    def on_drain(self, node: str) -> None:
        if not self.slurm.node(node).drain:
            self.slurm.drain(node, FOREIGN)
            self.seen_to(node)

    def on_free(self, node: str) -> None:
        if self.slurm.node(node).drain and self.slurm.node(node).reason == FOREIGN:
            self.slurm.resume(node)
            self.seen_to(node)

    def on_clear(self, node: str) -> None:
        clear.clear(self.order, node, "seen to", self.slurm)  # type: ignore[arg-type]
        self.open[node], self.drains[node] = {}, []

    def on_tidy(self, node: str) -> None:
        """Results that act has read are tidied away."""
        self.on_act(node)
        for path in self.results.glob(f"*/nodes/{node}/*/result.json"):
            path.unlink()
            path.parent.rename(path.parent.with_name(f".old-{path.parent.name}"))

    def flapping(self, name: str, before: NodeState, state: NodeState) -> None:
        """Twice drained within a day, it is not resumed by act."""
        drains = self.drains[name]
        lately = [at for at in drains if drains[-1] - at <= 86400]
        assert len(lately) < 2 or state.drain or not before.drain, f"{name} was resumed though it flaps: {self.log}"
        if state.drain and not before.drain:
            drains.append(self.now)

    def on_act(self, _: str) -> None:
        before = self.slurm.nodes()
        view, _done = act.run(self.order, self.slurm)  # type: ignore[arg-type]
        told = {decision.node: decision for decision in view.decisions.nodes}
        for name, state in self.slurm.nodes().items():
            if before[name].drain and before[name].reason == FOREIGN:
                assert state == before[name], f"a drain by others was touched: {self.log}"
            self.flapping(name, before[name], state)
            assert (name in view.decisions.died) == (name in self.untold), f"{name}: told once that it died: {self.log}"
            self.untold.discard(name)
            if not self.open[name]:
                continue
            assert name in told, f"{name} is not listed: {self.open[name]}; {self.log}"
            listed = told[name].evidence is not None or told[name].waits or told[name].drained
            assert listed or told[name].action == DRAIN or state.drain, f"{name}: {told[name]}; {self.log}"
            untouched = [run for run, at in self.open[name].items() if at is None]
            assert not untouched or state.drain, f"{name} is in use with {untouched}: {told[name]}; {self.log}"


@pytest.mark.parametrize("part", range(4))
def test_no_finding_is_lost_whatever_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    # When a file came to be there nobody can make up, but when it was changed.
    monkeypatch.setattr(gathering, "_came", lambda place: place.lstat().st_mtime)
    for seed in range(part * 30, part * 30 + 30):
        world = World(tmp_path / str(seed), seed)
        monkeypatch.setattr(time, "time", lambda world=world: world.now)
        for _ in range(world.chance.randint(8, 18)):
            world.step()
