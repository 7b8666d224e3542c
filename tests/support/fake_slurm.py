"""Stands in for Slurm where thousands of histories are played: nodes in memory, whose states change as Slurm changes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timezone

from nearfar.slurm.controller.node_state import NodeState
from nearfar.slurm.controller.scontrol import Refused


def stamp(at: float) -> str:
    return f"{datetime.fromtimestamp(int(at), timezone.utc):%Y-%m-%dT%H:%M:%S}"


class FakeSlurm:
    """What ``act`` asks of ``scontrol.Slurm``. ``keeps``: a resumed node keeps its reason
    (``slurm-versions.md``)."""

    def __init__(self, names: tuple[str, ...], keeps: bool) -> None:
        self.keeps = keeps
        self.states = {name: NodeState(name, "IDLE", partitions=("all",), fields={"CPUAlloc": "0"}) for name in names}

    def nodes(self) -> Mapping[str, NodeState]:
        return dict(self.states)

    def node(self, name: str) -> NodeState:
        return self.states[name]

    def cluster(self) -> str:
        return "played"

    def call(self, *command: str) -> str:
        """Nobody has reserved anything here."""
        assert "reservations" in command, command
        return "No reservations in the system\n"

    def clock_ahead(self) -> float:
        return 0.0

    def started(self) -> float | None:
        return 0.0

    def drain(self, name: str, reason: str, by: str = "alice") -> None:
        node = self.states[name]
        given = datetime.fromtimestamp(int(time.time()), timezone.utc)
        self.states[name] = replace(node, flags=node.flags | {"DRAIN"}, reason=reason, reason_by=by, reason_at=given)

    def resume(self, name: str) -> None:
        node = self.states[name]
        kept = (node.reason, node.reason_by, node.reason_at) if self.keeps else (None, None, None)
        fields = {**node.fields, "LastBusyTime": stamp(time.time())}
        self.states[name] = replace(
            node,
            base="IDLE",
            flags=node.flags - {"DRAIN"},
            reason=kept[0],
            reason_by=kept[1],
            reason_at=kept[2],
            fields=fields,
        )

    def die(self, name: str) -> None:
        """It answers no more, and SlurmdTimeout is over. From 23.02 on Slurm appends to a reason, before that it keeps it."""
        node = self.states[name]
        appended = f"{node.reason} : Not responding" if self.keeps else node.reason
        self.states[name] = replace(
            node,
            base="DOWN",
            flags=node.flags | {"NOT_RESPONDING"},
            reason="Not responding" if node.reason is None else appended,
        )

    def come_back(self, name: str) -> None:
        """It answers again; with ReturnToService=1 Slurm leaves it down unless nothing else was the matter."""
        node = replace(self.states[name], flags=self.states[name].flags - {"NOT_RESPONDING"})
        if node.reason == "Not responding":
            node = replace(node, base="IDLE", reason=node.reason if node.drain else None)
        self.states[name] = node

    def reboot(self, name: str) -> None:
        node = self.states[name]
        self.states[name] = replace(node, fields={**node.fields, "BootTime": stamp(time.time())})

    def update(
        self, name: str, objection: Callable[[NodeState], str | None], *, state: str, reason: str | None = None
    ) -> NodeState:
        before = self.states[name]
        why = objection(before)
        if why is not None:
            raise Refused(name, why)
        if state == "drain":
            self.drain(name, str(reason), "nearfar")
        else:
            self.resume(name)
        return before

    def wait(self, name: str, until: Callable[[NodeState], bool], limit: float) -> NodeState:
        assert until(self.states[name])
        return self.states[name]
