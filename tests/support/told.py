"""What tests of ``act`` and those that it tells share: a site, its hooks, and a Slurm that is played."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from nearfar.base import validator
from nearfar.site import HOOKS, Policy, SiteHooks
from nearfar.site.drain_policy import DrainCap, DrainSteps
from nearfar.slurm.act import ActOptions
from nearfar.slurm.telling import ActTold, act_and_tell
from tests.support.fake_slurm import FakeSlurm
from tests.support.node_results import leave


class Told:
    """A site of a few nodes whose hooks write down what they are told. ``metrics``: where text files for Prometheus go."""

    def __init__(self, folder: Path, nodes: tuple[str, ...] = ("n1", "n2")) -> None:
        self.folder, self.results, self.state = folder, folder / "results", folder / "state"
        self.results.mkdir()
        self.slurm = FakeSlurm(nodes, keeps=True)
        self.now = time.time()
        self.hooks = {hook: self.program(hook, 'cat >> "$0.told"') for hook in HOOKS}
        self.seconds = 5.0
        self.cap = DrainCap(8, 1.0)
        self.metrics: Path | None = None
        self.steps = DrainSteps("drain", "drain")

    def program(self, name: str, script: str, mode: int = 0o755) -> str:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(mode)
        return str(path)

    def act(self) -> ActTold:
        return act_and_tell(self.options(), self.slurm, self.metrics)  # type: ignore[arg-type]

    def options(self) -> ActOptions:
        cap = self.cap
        wanted = SiteHooks(dict(self.hooks), self.seconds)
        policy = Policy(
            "vm", frozenset({0, os.geteuid()}), self.steps, per_day=cap, in_all=cap, same_metric=cap, hooks=wanted,
        )  # fmt: skip
        return ActOptions(policy, self.results, None, self.state)

    def told(self, hook: str) -> list[dict[str, Any]]:
        path = self.folder / f"{hook}.told"
        found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        assert [error.message for each in found for error in validator("hook-1").iter_errors(each)] == []
        return found

    def memory(self) -> list[tuple[str, str | None]]:
        lines = [json.loads(line) for line in (self.state / "hooks.jsonl").read_text().splitlines()]
        return [
            (line["action"], line.get("problem")) for line in lines if line["action"] not in ("hook_on", "hook_off")
        ]

    def wrong_data(self, node: str, run: str) -> None:
        leave(self.results, node, run, at=self.now - 60, wrong="wrong data")
