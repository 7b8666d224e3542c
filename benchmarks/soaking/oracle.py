"""What must hold after each step of a soak. It knows only what really happened, the caps and the time; nothing of what nearfar keeps."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .world import Ended, World

#: Seconds, and completed calls of `act`, after which a node with wrong data must not be in use while there is room to drain it.
_LONGEST, _ACTS = 180.0, 3
_OURS = "nearfar: "


class Oracle:
    """Events tell it what happens to the nodes; ``check`` gives a sentence for whatever does not hold."""

    def __init__(self, folder: Path) -> None:
        self.journal = folder / "jobs.jsonl"  # jobs write down what they leave: a line of JSON each
        self.open: dict[str, list[str]] = {}  # by node, the runs whose hard evidence nobody has answered
        self.runs: set[str] = set()  # runs that a node may be drained for
        self.foreign: dict[str, str] = {}  # the reason of each drain by others
        self.drained: set[str] = set()  # nodes that were seen drained by nearfar, within this day
        self.off: set[str] = set()  # nodes without power
        self.measured: dict[tuple[str, str], int] = {}
        self.findings, self.away, self.acts = 0, 0.0, 0
        self._read, self._faulty, self._reserved = 0, dict[str, tuple[float, int]](), dict[str, float]()

    def publish(self, node: str, run: str) -> None:
        """Hard evidence of a node was published."""
        self.open.setdefault(node, []).append(run)
        self.runs.add(run)
        self.findings += 1

    def answer(self, node: str) -> None:
        """A node was cleared, has passed a retest, or an administrator has resumed our drain."""
        self.open.pop(node, None)

    def read_jobs(self) -> None:
        """Take over what jobs have left since."""
        lines = self.journal.read_text(encoding="utf-8").splitlines(keepends=True) if self.journal.exists() else []
        for line in lines[self._read :]:
            if not line.endswith("\n"):
                break
            self._read += 1
            one = json.loads(line)
            if one["hard"]:
                self.publish(one["node"], one["run"])
            if one["sweep"]:
                key = (one["sweep"], one["node"])
                self.measured[key] = self.measured.get(key, 0) + 1

    def check(self, world: World, ended: Ended | None, per_day: int, in_all: int, least: int) -> Iterator[str]:
        """After a step, in which a command may have ``ended``."""
        self.read_jobs()
        now, nodes = time.time(), world.nodes()
        if ended is not None:
            refused = ended.words[0] == "act" and ended.returncode == 2
            if refused or ended.returncode not in (0, 1, 2, 3, -9, 130) or "Traceback" in ended.err + ended.out:
                yield f"{' '.join(ended.words)}: exit code {ended.returncode}: {ended.err[-1500:]}"
            self.acts += ended.words[0] == "act" and ended.returncode in (0, 3) and ended.out.startswith("{")
        ours = {name for name, state in nodes.items() if state.drain and _OURS in (state.reason or "")}
        self.drained |= ours
        if len(ours) > in_all or len(self.drained) > per_day:
            yield f"{len(ours)} of {in_all} nodes are drained, {len(self.drained)} of {per_day} were within a day"
        for name, state in nodes.items():
            reason, foreign = state.reason or "", self.foreign.get(name)
            if name in ours and reason.partition("run=")[2].split(" ")[0] not in self.runs:
                yield f"{name} is drained with '{reason}', which no run that counts has found"
            if foreign is not None and state.base == "DOWN" and reason.endswith("reboot timed out"):
                del self.foreign[name]  # slurm-versions.md
            elif foreign is not None and not (state.drain and reason.startswith(foreign)):
                yield f"{name}: others drained it with '{foreign}', and it is {state.words} '{reason}'"
        usable = {name for name, state in nodes.items() if state.usable and "RESERVED" not in state.flags}
        room = len(ours) < in_all and len(usable) > least and self.away < now - 15
        may = usable if len(self.drained) < per_day else usable & self.drained
        self._faulty = {name: self._faulty.get(name, (now, self.acts)) for name in self.open if room and name in may}
        for name, (since, acts) in self._faulty.items():
            if now - since > _LONGEST and self.acts - acts >= _ACTS:
                yield f"{name} is in use with {self.open[name]} for {now - since:.0f} s, though it could be drained"
        reserved = [name for name, state in nodes.items() if "RESERVED" in state.flags]
        self._reserved = {name: self._reserved.get(name, now) for name in reserved}
        if any(now - since > 2 * _LONGEST for since in self._reserved.values()):
            yield f"{', '.join(reserved)} stay reserved"
