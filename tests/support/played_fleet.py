"""A site of a few nodes on a Slurm that is played, whose results and health checks a test makes up."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.site import Policy
from nearfar.site.drain_policy import AvailableFloor, DrainCap, DrainSteps
from nearfar.slurm.act import ActOptions, ActResult, View, act, clear, view_of
from nearfar.slurm.controller import NodeState
from nearfar.slurm.health import finding_files
from nearfar.slurm.ledger import Ledger, actions
from tests.support.fake_slurm import FakeSlurm
from tests.support.node_results import leave, utc


class PlayedFleet:
    """``nodes`` of system vm, of which everything may be drained unless ``policy`` is changed."""

    def __init__(
        self, folder: Path, nodes: tuple[str, ...] = ("n1", "n2", "n3", "n4", "n5", "n6"), keeps: bool = True
    ) -> None:
        self.folder, self.results, self.health, self.state = (
            folder,
            folder / "results",
            folder / "health",
            folder / "state",
        )
        self.results.mkdir()
        self.health.mkdir()
        self.slurm: Any = FakeSlurm(nodes, keeps)
        self.now, self._runs = time.time(), 0
        cap = DrainCap(len(nodes), 1.0)
        self.policy = Policy(
            "vm", frozenset({0, os.geteuid()}), DrainSteps("drain", "drain"), per_day=cap, in_all=cap, same_metric=DrainCap(99, 1.0),
            available=AvailableFloor(0.0),
        )  # fmt: skip

    def change(self, **policy: Any) -> None:
        self.policy = replace(self.policy, **policy)

    @property
    def options(self) -> ActOptions:
        return ActOptions(self.policy, self.results, self.health if os.geteuid() == 0 else None, self.state)

    def run(self) -> str:
        self._runs += 1
        return f"{self._runs:08x}"

    def result(self, node: str, ago: float = 60.0, **what: Any) -> str:
        """A run of a node that ended ``ago`` seconds ago; its name."""
        run = self.run()
        leave(self.results, node, run, at=time.time() - ago, **what)
        return run

    def wrong(self, node: str, ago: float = 60.0, **what: Any) -> str:
        return self.result(node, ago, wrong="wrong data", speed=None, **what)

    def slow_twice(self, node: str, **what: Any) -> None:
        self.result(node, 7200.0, speed=27.2, **what)
        self.result(node, 60.0, speed=27.1, **what)

    def health_check(self, node: str, missing: str = "", system: str = "vm") -> str:
        """A health check now, in which a GPU is missing, or none; its run."""
        run = self.run()
        found = (
            [
                {
                    "subject": missing,
                    "verdict": "FAIL",
                    "hard": True,
                    "reason": f"{missing} is missing",
                    "code": "gpu.missing",
                }
            ]
            if missing
            else []
        )
        document: dict[str, Any] = {
            "schema": "nearfar-health/1", "run": run, "node": node, "hostname": node, "system": system, "partition": "gpu",
            "time": utc(time.time()), "boot": None, "seconds": 0.3, "verdict": "FAIL" if found else "PASS", "findings": found,
        }  # fmt: skip
        finding_files.store(self.health, document, "")
        return run

    def act(self) -> ActResult:
        return act(self.options, self.slurm)

    def clear(self, *nodes: str) -> list[str]:
        return [each.words for each in clear(self.options, nodes, "repaired", self.slurm)]

    def view(self) -> View:
        with self.ledger() as ledger:
            now = time.time()
            return view_of(ledger, self.options, self.slurm.nodes(), actions.past(ledger, now), now)

    def ledger(self) -> Ledger:
        self.state.mkdir(exist_ok=True)
        return Ledger.open(self.state)

    def states(self) -> dict[str, str]:
        return {name: status.state for name, status in self.view().fleet.nodes.items()}

    def node(self, name: str) -> NodeState:
        state: NodeState = self.slurm.node(name)
        return state

    def drained(self) -> list[str]:
        return [name for name, state in self.slurm.nodes().items() if state.drain]

    def did(self) -> list[tuple[str, str, str | None]]:
        """What was done, as the ledger has it: kind, outcome, node."""
        with self.ledger() as ledger:
            return [
                (each.kind, each.outcome, each.node) for each in actions.actions(ledger) if each.kind != actions.CALL
            ]
