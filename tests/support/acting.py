"""What tests of ``nearfar slurm act`` share: a site that lets it drain, and its command against a private Slurm."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.controller.scontrol import Slurm
from nearfar.slurm.ledger import Ledger, actions
from tests.support.node_results import leave
from tests.support.private_slurm import PrivateSlurm

SYSTEM = """\
system: vm
hosts: ["n[1-6]"]
act:
  trusted: [root, {user}]
  default: drain
  checks: {{peer_check: observe, saturation_check: observe}}
  cap:
    per_day: {{nodes: 3, share: 0.5}}
    in_all: {{nodes: 4, share: 0.6}}
partitions:
  - name: gpu
"""


class Site:
    """A Slurm, a site that lets drain, and a results directory."""

    def __init__(self, private: PrivateSlurm, folder: Path) -> None:
        self.private, self.slurm = private, Slurm(private.environment)
        self.results, self.state = folder / "results", folder / "state"
        self.results.mkdir()
        self.now = time.time()

    def run(self, command: str, *words: str) -> int:
        """A command of ``nearfar slurm``, on this site's directories, once slurmctld hears from all nodes that run."""
        self.private.until_nodes_answer()
        return cli.main(["slurm", command, f"--state={self.state}", f"--results={self.results}", *words])

    def act(self, *options: str) -> int:
        return self.run("act", *options)

    def slow_twice(self, node: str, first: str, second: str) -> None:
        leave(self.results, node, first, at=self.now - 7200, speed=27.2)
        leave(self.results, node, second, at=self.now - 60, speed=27.1)

    def node(self, name: str) -> NodeState:
        return self.slurm.node(name)

    def log(self) -> list[tuple[str, str, str | None]]:
        """What the ledger has of what was done: kind, outcome and node, in order."""
        ledger = Ledger.read_only(self.state)
        if ledger is None:
            return []
        with ledger:
            found = actions.actions(ledger)
        return [(each.kind, each.outcome, each.node) for each in found if each.kind != actions.CALL]

    def drained(self) -> list[str]:
        """The nodes that Slurm shows drained."""
        return [name for name, state in self.slurm.nodes().items() if state.drain]


@contextmanager
def prepared(private: PrivateSlurm, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The site in ``folder``, and this process' environment on the private Slurm; afterwards all nodes are as they were."""
    (folder / "site" / "systems").mkdir(parents=True)
    (folder / "site" / "systems" / "vm.yaml").write_text(SYSTEM.format(user=os.geteuid()))
    monkeypatch.setenv("NEARFAR_SITE", str(folder / "site"))
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, private.environment[name])
    site = Site(private, folder)
    for name in private.names:
        site.slurm.wait(name, lambda node: node.idle, 60)  # just resumed, it is not heard from for a moment
    # A drain within a second of slurmctld's start may have been lost with the slurmctld before, and is done again.
    started = site.slurm.started()
    assert started is not None
    time.sleep(max(0.0, started + 2.5 - time.time()))
    yield site
    for name, node in site.slurm.nodes().items():
        if node.drain or node.base == "DOWN":
            private.run(["scontrol", "update", f"nodename={name}", "state=resume"])
        if node.reason:  # slurm-versions.md
            private.run(["scontrol", "update", f"nodename={name}", "reason="])


def instead_of_scontrol(site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch, update: str) -> None:
    """Let ``scontrol update`` do something else (shell); every other call of it is the real one's."""
    folder.mkdir(exist_ok=True)
    real = shutil.which("scontrol", path=site.private.environment["PATH"])
    script = folder / "scontrol"
    script.write_text(f'#!/bin/sh\ncase $1 in update) {update} ;; esac\nexec {real} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{site.private.environment['PATH']}")
