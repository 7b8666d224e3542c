"""Random histories of findings, repairs and people against a simple model: no hard finding is lost, nothing foreign is touched."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar.site.drain_policy import DrainCap, DrainSteps, Policy
from nearfar.slurm.act import ActOptions, act, clear, node_states
from nearfar.slurm.health import finding_files
from tests.support.fake_slurm import FakeSlurm
from tests.support.node_results import leave, utc

NODES = ("n1", "n2")
POLICY = Policy(
    "vm", frozenset({os.geteuid()}), default=DrainSteps("drain", "drain"), per_day=DrainCap(99, 1.0), in_all=DrainCap(99, 1.0),
    same_metric=DrainCap(9, 1.0),
)  # fmt: skip
#: What may happen, the frequent ones more than once.
EVENTS = (
    "wrong", "wrong", "health", "pass", "pass", "reboot", "act", "act", "act", "resume", "drain", "replace", "free", "clear", "tidy",
    "death", "return",
)  # fmt: skip
FOREIGN = "ticket 12"


class World:
    """Two nodes, their results, and what the model knows: the runs whose finding nobody has answered."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance, self.now, self.count = random.Random(seed), time.time(), 0
        self.slurm = FakeSlurm(NODES, keeps=bool(seed % 2))
        self.results, self.health = folder / "results", folder / "health"
        self.results.mkdir(parents=True)
        self.health.mkdir()
        self.options = ActOptions(POLICY, self.results, self.health if os.geteuid() == 0 else None, folder / "state")
        self.open: dict[str, set[str]] = {name: set() for name in NODES}
        self.log: list[tuple[str, str]] = []
        #: Nodes whose drain of ours act has seen last.
        self.seen_ours: set[str] = set()

    def step(self) -> None:
        self.now += self.chance.choice((120, 1200, 3600, 7200))
        self.count += 1
        event, node = self.chance.choice(EVENTS), self.chance.choice(NODES)
        self.log.append((event, node))
        getattr(self, f"on_{event}")(node)

    def run(self) -> str:
        return f"{self.count:08x}"

    def on_wrong(self, node: str) -> None:
        leave(self.results, node, self.run(), at=self.now, wrong="wrong data", speed=None, took=60)
        self.open[node].add(self.run())

    def on_health(self, node: str) -> None:
        """A GPU is absent in one health check, and back in the next."""
        if self.options.health is None:
            return
        for more, words in ((0, "GPU 2 is absent"), (30, "")):
            run, at = f"{self.count:04x}{more:04x}", self.now + more
            found = [{"subject": "g2", "verdict": "FAIL", "hard": True, "reason": words}] if words else []
            check: dict[str, Any] = {
                "schema": "nearfar-health/1", "run": run, "node": node, "hostname": node, "system": "vm", "partition": "gpu",
                "time": utc(at), "boot": None, "seconds": 0.3, "verdict": "FAIL" if words else "PASS", "findings": found,
            }  # fmt: skip
            finding_files.store(self.health, check, "")
            for path in (self.health / f"{node}.json", self.health / "kept" / node / finding_files.name(check)):
                if path.exists():
                    os.utime(path, (at, at))
        self.open[node].add(f"{self.count:04x}0000")
        self.now += 60

    def on_pass(self, node: str) -> None:
        """A lucky night closes nothing, and nor does a reboot."""
        leave(self.results, node, self.run(), at=self.now, took=60, job=1, check="topology_check")

    def on_reboot(self, node: str) -> None:
        self.slurm.reboot(node)

    def on_death(self, node: str) -> None:
        state = self.slurm.node(node)
        if state.base != "DOWN" and state.drain:
            self.slurm.die(node)

    def on_return(self, node: str) -> None:
        if self.slurm.node(node).dead:
            self.slurm.come_back(node)

    def on_resume(self, node: str) -> None:
        """An administrator resumes our drain: that answers what act has seen it drained for."""
        state = self.slurm.node(node)
        if not state.dead and state.drain and str(state.reason).startswith("nearfar:"):
            self.on_act(node)
            self.slurm.resume(node)
            self.open[node] = set()

    def on_drain(self, node: str) -> None:
        if not self.slurm.node(node).drain:
            self.slurm.drain(node, FOREIGN)

    def on_replace(self, node: str) -> None:
        """Another program drains a node that we have drained, and later takes that back: it answers nothing."""
        state = self.slurm.node(node)
        if not state.dead and state.drain and str(state.reason).startswith("nearfar:"):
            self.slurm.drain(node, FOREIGN)
            self.on_act(node)

    def on_free(self, node: str) -> None:
        if self.slurm.node(node).drain and self.slurm.node(node).reason == FOREIGN and not self.slurm.node(node).dead:
            self.slurm.resume(node)

    def on_clear(self, node: str) -> None:
        [cleared] = clear(self.options, [node], "seen to", self.slurm)  # type: ignore[arg-type]
        if cleared.in_use:
            self.open[node] = set()

    def on_tidy(self, node: str) -> None:
        """Results that act has read are tidied away."""
        self.on_act(node)
        for path in self.results.glob(f"*/nodes/{node}/*/result.json"):
            path.unlink()
            path.parent.rename(path.parent.with_name(f".old-{path.parent.name}"))

    def on_act(self, _: str) -> None:
        before = self.slurm.nodes()
        view = act(self.options, self.slurm).view  # type: ignore[arg-type]
        assert not view.refused, self.log
        for name, state in self.slurm.nodes().items():
            if before[name].drain and before[name].reason == FOREIGN:
                assert state == before[name], f"a drain by others was touched: {self.log}"
            if not self.open[name]:
                continue
            status = view.fleet.nodes[name]
            assert state.out, f"{name} is in use with {self.open[name]}: {status}; {self.log}"
            assert status.state in (node_states.DRAINED, node_states.OTHERS), f"{name}: {status}; {self.log}"


@pytest.mark.parametrize("part", range(4))
def test_no_finding_is_lost_whatever_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    for seed in range(part * 30, part * 30 + 30):
        world = World(tmp_path / str(seed), seed)
        monkeypatch.setattr(time, "time", lambda world=world: world.now)
        for _ in range(world.chance.randint(8, 18)):
            world.step()
