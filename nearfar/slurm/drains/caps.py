"""How many nodes may be drained: the site's caps, and how many nodes of each partition have to stay usable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nearfar.base import Finding
from nearfar.site import DrainCap, Policy
from nearfar.slurm.controller import NodeState, node_names

from . import messages
from .objections import drained_by_us

_DAY = 86400.0


class DrainCaps:
    """The drains that count now. ``nodes``: all of Slurm's, as it has just shown them; ``now``: seconds since 1970; ``drained_at``:
    when nodes were drained by us last, where a ledger knows it (it counts though the node was resumed since, or its reason edited);
    of other nodes the time of their reason in Slurm counts; ``retested``: nodes that a retest has taken out of their drain."""

    def __init__(
        self, nodes: Mapping[str, NodeState], policy: Policy, now: float, drained_at: Mapping[str, float] | None = None, retested:
        Iterable[str] = (),
    ) -> None:  # fmt: skip
        self._nodes, self._policy, known = nodes, policy, drained_at or {}
        #: Nodes that carry a drain of ours.
        self.in_all = {name for name, state in nodes.items() if drained_by_us(state)} | set(retested)
        given = {name: nodes[name].reason_at for name in self.in_all & nodes.keys() - known.keys()}
        at = {**known, **{name: when.timestamp() for name, when in given.items() if when is not None}}
        #: Nodes drained by us within the last 24 hours.
        self.per_day = {name for name, drained in at.items() if now - drained < _DAY}
        self._out = {name for name, state in nodes.items() if not state.usable}
        self.members: dict[str, set[str]] = {}
        for name, state in nodes.items():
            for partition in state.partitions:
                self.members.setdefault(partition, set()).add(name)

    @property
    def counted(self) -> tuple[tuple[str, str, DrainCap, set[str]], ...]:
        """Each cap's name, what it is called, what it allows, and the nodes that count."""
        per_day = "per_day", "within a day", self._policy.per_day, self.per_day
        return ("in_all", "in all", self._policy.in_all, self.in_all), per_day

    @property
    def over(self) -> list[str]:
        """A sentence for each cap beyond which nodes are drained."""
        found = []
        for _, when, cap, counted in self.counted:
            partitions = [(name, counted & these, cap.of(len(these))) for name, these in self.members.items()]
            for partition, nodes, most in (None, counted, cap.nodes), *partitions:
                if len(nodes) > most:
                    names, count = node_names.fold(sorted(nodes)), len(nodes)
                    one = messages.OVER.finding(names, count=count, when=when, most=most, partition=partition)
                    found.append(one.reason)
        return found

    def objection(self, node: str) -> Finding | None:
        """The cap or the floor that forbids to drain one more node; None where it may be drained."""
        return self._beyond_cap(node) or self._beyond_floor(node)

    def add(self, node: str) -> None:
        """Count a node that is about to be drained."""
        for counted in (self.in_all, self.per_day, self._out):
            counted.add(node)

    def _partitions(self, node: str) -> tuple[str, ...]:
        """None of a node that Slurm does not show, or that cannot be asked for."""
        return self._nodes[node].partitions if node in self._nodes else ()

    def _beyond_cap(self, node: str) -> Finding | None:
        for _, when, cap, before in reversed(self.counted):
            counted = before | {node}
            if len(counted) > cap.nodes:
                return messages.CAP.finding(node, most=cap.nodes, when=when)
            for partition in self._partitions(node):
                members = self.members[partition]
                most = cap.of(len(members))
                if len(counted & members) > most:
                    message = messages.CAP_OF_ONE if len(members) == 1 else messages.CAP
                    return message.finding(node, most=most, members=len(members), partition=partition, when=when)
        return None

    def _beyond_floor(self, node: str) -> Finding | None:
        """A node that is not usable already takes nothing away."""
        for partition in () if node in self._out else self._partitions(node):
            members = {name for name in self.members[partition] if self._nodes[name].base != "FUTURE"}
            least, out = self._policy.floor.of(len(members)), members & self._out
            if len(members) - len(out) - 1 < least:
                return messages.FLOOR.finding(
                    node, partition=partition, out=len(out), members=len(members), others=len(out - self.in_all), least=least
                )  # fmt: skip
        return None
