"""What must hold after each step of a soak, whatever happened."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError
from nearfar.base.files import file_lock
from nearfar.site.drain_policy import AvailableFloor
from nearfar.slurm.act.messages import TOO_FEW
from nearfar.slurm.act.quarantine import PREFIX
from nearfar.slurm.controller import NodeState, reservations
from nearfar.slurm.findings import drained_by_us

from .world import IN_ALL, LEFT, PER_DAY, Ended, World

#: An `act` that has decided a drain twice and not done it, without a word, has failed; a reservation may need one more.
_ACTS = 2
#: So many calls of `act` in a row that end before they have decided anything: it will never again.
_CALLS = 12
#: Seconds until a slurmctld that was started shows nodes as reserved.
_SHOWN_RESERVED = 15.0
#: Slurm's word for a reboot that it has not seen within ResumeTimeout.
_TIMED_OUT = "reboot timed out"
#: What is said of a node in use with open evidence that is rightly left so.
_TOLD = (
    "held", "drains are stopped", "has not heard from it", "somebody has resumed", "somebody else had drained it",
    "it was drained by somebody else", "its reason is not ours", "it runs no jobs, and why is Slurm's to say",
)  # fmt: skip


class Invariants:
    """Looks at a world after each step; ``check`` gives the sentences of what does not hold."""

    def __init__(self, world: World) -> None:
        self.world, self.truth = world, world.truth
        self._in_use: dict[str, int] = defaultdict(int)
        self._reserved: dict[str, int] = defaultdict(int)
        #: Calls of `act` since one was through.
        self._not_through = 0
        #: Runs that `act` has said it does not believe.
        self._refused: set[str] = set()
        self._heard = 0.0
        self._lines = 0
        #: As they were after the step before.
        self._before: dict[str, NodeState] = world.nodes()

    def check(self, ended: Ended | None, began: float) -> Iterator[str]:
        """After a step, in which the command ``ended`` may have been run from ``began`` on (seconds since 1970)."""
        self.truth.read_jobs()
        nodes = self.world.nodes()
        if ended is not None:
            yield from self._exit(ended)
        try:
            lines = self._log()
        except ValueError as error:
            yield f"the log cannot be read: {error}"
            return
        said = self._said(ended)
        yield from self._through(ended, said is not None)
        yield from self._foreign(nodes)
        yield from self._caps(nodes, lines)
        yield from self._floor(nodes, lines[self._lines :], began)
        self._lines = len(lines)
        yield from self._locks()
        if said is not None:
            self._refused |= {
                word for line in said["refused"] for word in line.replace(";", " ").replace(":", " ").split()
            }
            self._heard = began
            yield from self._told(said, nodes, began)
            yield from self._reservations(said, began)
        yield from self._findings(lines)
        self._before = nodes

    def _exit(self, ended: Ended) -> Iterator[str]:
        if ended.returncode not in (0, 1, 2, 3, -9, 130):
            yield f"{' '.join(ended.words)}: exit code {ended.returncode}: {ended.err[-400:]}"
        if ended.words[0] == "act" and ended.returncode == 2:
            yield f"act is refused: {ended.err[-400:]}"
        if "Traceback" in ended.err + ended.out:
            yield f"{' '.join(ended.words)}: a traceback: {ended.err[-1500:]}"

    def _through(self, ended: Ended | None, through: bool) -> Iterator[str]:
        if ended is None or ended.words[0] != "act" or ended.returncode < 0 or "--dry-run" in ended.words:
            return
        self._not_through = 0 if through else self._not_through + 1
        if self._not_through > _CALLS:
            yield f"{self._not_through} calls of act in a row have decided nothing: {ended.err[-400:]}"

    def _log(self) -> list[dict[str, Any]]:
        path = self.world.state / "log.jsonl"
        if not path.exists():
            return []
        whole = path.read_text(encoding="utf-8").split("\n")[:-1]
        return [json.loads(line) for line in whole if not line.endswith(" #torn")]

    def _said(self, ended: Ended | None) -> dict[str, Any] | None:
        """What an `act` that was through has said; None where there was none, or only a dry one."""
        if ended is None or ended.words[0] != "act" or ended.returncode not in (0, 3):
            return None
        try:
            said: dict[str, Any] = json.loads(ended.out)
        except ValueError:
            return None
        return None if said["dry_run"] else said

    def _foreign(self, nodes: dict[str, NodeState]) -> Iterator[str]:
        for name, reason in list(self.truth.foreign.items()):
            state = nodes[name]
            if state.base == "DOWN" and (state.reason or "").endswith(_TIMED_OUT):
                del self.truth.foreign[name]  # versions.REBOOT_TIMEOUT_KEEPS_DRAIN: Slurm took the drain away
                continue
            if not state.drain or not (state.reason or "").startswith(reason):
                yield f"{name}: others drained it with '{reason}', and it is {state.words} '{state.reason}'"

    def _caps(self, nodes: dict[str, NodeState], lines: list[dict[str, Any]]) -> Iterator[str]:
        ours = sorted(name for name, state in nodes.items() if drained_by_us(state))
        outcomes = {line["id"]: line["outcome"] for line in lines}
        today: set[str] = set()
        for line in lines:
            if line["action"] == "reset_latch":
                today = set()
            if line["action"] == "drain" and line.get("run") in self.truth.void:
                yield f"{line['node']} was drained for run {line['run']}, which does not count"
            if line["action"] == "drain" and outcomes[line["id"]] != "refused":
                today.add(line["node"])
        if len(ours) > IN_ALL:
            yield f"{len(ours)} nodes are drained by act, {IN_ALL} may be: {', '.join(ours)}"
        if len(today) > PER_DAY:
            yield f"{len(today)} nodes were drained within a day, {PER_DAY} may be: {', '.join(sorted(today))}"

    @property
    def _least(self) -> int:
        """So many nodes have to stay usable."""
        return AvailableFloor(LEFT).of(len(self.world.names))

    def _floor(self, nodes: dict[str, NodeState], new: list[dict[str, Any]], began: float) -> Iterator[str]:
        """Where `act` has drained a node that was usable, enough are left. Those that are off do not count: `act` may not have known."""
        taken = [
            line["node"] for line in new
            if line["action"] == "drain" and line["outcome"] == "done" and line.get("before") in ("IDLE", "ALLOCATED", "MIXED")
        ]  # fmt: skip
        drained = sorted(name for name, state in nodes.items() if state.drain and name not in self.truth.off)
        if taken and len(nodes) - len(drained) < self._least and self.truth.away < began:
            yield f"{', '.join(taken)} drained: {len(drained)} of {len(nodes)} are drained now, and {self._least} have to stay usable"

    def _held_in_vain(self, nodes: dict[str, NodeState], began: float) -> bool:
        """Whether the floor allowed another drain before this step and after it."""
        usable = min(sum(state.usable for state in seen.values()) for seen in (self._before, nodes))
        return usable > self._least and self.truth.away < began

    def _locks(self) -> Iterator[str]:
        try:
            if self.world.state.exists():
                with file_lock(self.world.state / "lock", 0.0):
                    pass
        except NearfarError as error:
            yield f"nothing runs, and the lock is held: {error}"

    def _told(self, said: dict[str, Any], nodes: dict[str, NodeState], began: float) -> Iterator[str]:
        """Each node with open evidence is drained, or it is said why not, and that is so."""
        in_vain = self._held_in_vain(nodes, began)
        entries = {entry["node"]: entry for entry in said["nodes"]}
        for name, entry in entries.items():
            state, evidence = nodes[name], entry["evidence"]
            acted_on = [one for one in evidence if one["acted_on"]]
            told = any(words in entry["why"] for words in _TOLD) or entry["problem"] is not None
            told = told and not (in_vain and entry["code"] == TOO_FEW.code)
            if not acted_on or state.out or (told and entry["action"] != "drain"):
                self._in_use.pop(name, None)
            else:
                self._in_use[name] += 1
            if self._in_use.get(name, 0) >= _ACTS:
                yield f"{name} is in use with open evidence after {_ACTS} acts: {entry}"
            for one in evidence:
                found = next((f for f in self.truth.findings if f.run == one["run"] and f.node == name), None)
                if found is not None and not one["acted_on"] and not self.truth.answered(found):
                    yield f"{name}: nobody has been there since run {one['run']}, and act takes it for seen to: {one['why']}"

    def _reservations(self, said: dict[str, Any], began: float) -> Iterator[str]:
        """`act` asks for reservations where a node is shown as reserved, which a slurmctld that was just started does not do yet."""
        if began - self.truth.away < _SHOWN_RESERVED:
            return
        left = {one.name for one in reservations.show(self.world.slurm) if one.name.startswith(PREFIX)}
        for name in {*left, *self._reserved}:
            self._reserved[name] = self._reserved[name] + 1 if name in left else 0
            if self._reserved[name] >= _ACTS and not any(name in line for line in said["unclear"]):
                yield f"reservation {name} is left after {_ACTS} acts, and nothing was said of it"
            if self._reserved[name] >= 5 * _ACTS:
                yield f"reservation {name} is left after {5 * _ACTS} acts"

    def _findings(self, lines: list[dict[str, Any]]) -> Iterator[str]:
        """What was published before the last `act` that was through is in the log, and open unless something has closed it."""
        evidence = [line for line in lines if line["action"] == "evidence"]
        closed = {number for line in lines if line["action"] == "closed" for number in line["evidence"]}
        for found in self.truth.findings:
            logged = [
                line
                for line in evidence
                if line["node"] == found.node and line["check"] == found.check and line["finding"]["subject"] == found.what
                and (line["run"] == found.run or found.check == "health")
            ]  # fmt: skip
            excused = found.run in self._refused or self.truth.cleared(found) or self.truth.may_be_closed(found)
            if not logged and found.at < self._heard and not excused:
                yield f"{found} is not in the log after an act of {time.strftime('%T', time.gmtime(self._heard))}"
            for line in logged:
                if line["id"] in closed and line["run"] == found.run and not self.truth.may_be_closed(found):
                    yield f"{found} was closed, and no repair and full passing run came after it"


def parts(folder: Path) -> str:
    """The sizes of what a soak has left, for its summary."""
    log = folder / "act" / "log.jsonl"
    return f"log of {log.stat().st_size // 1024} KiB" if log.exists() else "no log"
