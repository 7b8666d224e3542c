"""Why a node is left as it is: others' words, its state, the site's caps and floors. Asked when deciding, and again before each write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nearfar.base import Finding
from nearfar.site import DrainCap, Policy
from nearfar.slurm.controller import NodeState, node_names

from . import messages, reasons
from .reasons import DrainReason

#: Reasons that Slurm gives a node which it finds dead, or newly booted.
DIED = ("Not responding", "Node unexpectedly rebooted")
#: States in which a node that has passed is not resumed yet.
_NOT_YET = {
    "INVALID_REG": "Slurm rejects its registration", "INVAL": "Slurm rejects its registration",
    "NOT_RESPONDING": "it does not answer", "POWERING_DOWN": "it is being powered down", "FAIL": "somebody, or a program, marked it",
}  # fmt: skip


def our_reason(state: NodeState) -> DrainReason | None:
    """The reason of ours that a node is out of use for, whatever others put before or behind it; None where it is in use or out
    of use for theirs."""
    return reasons.find(state.why_out)


def drained_by_us(state: NodeState | None, known: bool = False) -> bool:
    """Whether a node is drained with a reason of ours; where a drain of ours is ``known``, also with Slurm's own in its place, as
    recent versions write it on a node that died."""
    return state is not None and state.drain and (our_reason(state) is not None or (known and died(state)))


def died(state: NodeState) -> bool:
    """Whether Slurm gave the node's reason because it stopped answering, or was booted unexpectedly."""
    return state.reason is not None and state.reason.startswith(DIED)


def drained_by_prolog(state: NodeState) -> bool:
    """Whether Slurm drained a node because its prolog failed."""
    return state.drain and (state.reason or "").startswith("Prolog error")


def carries(state: NodeState, reason: str | None) -> bool:
    """Whether a node carries a drain of ours, by its reason: the same check of the same run, in use or not."""
    ours = reasons.find(state.reason)
    return ours is not None and ours.same(reasons.find(reason))


def unreadable(state: NodeState) -> str | None:
    """Why nothing at all is done about a node. Until it has registered, a slurmctld that was just started knows nothing of it."""
    if state.base == "UNKNOWN":
        return f"it is {state.words}: slurmctld has not heard from it yet"
    if state.base == "FUTURE":
        return f"it is {state.words}: not a node in service"
    if not state.known_words:
        return f"it is {state.words}: not a state that this version knows"
    return None


def objection_to_drain(state: NodeState) -> str | None:
    """Why a node must not be drained."""
    if state.gone:
        return f"it is {state.words}: that machine was given back, and the next of this name is another"
    objection = objection_to_drain_again(state) or unreadable(state)
    if objection is None and (state.base == "ERROR" or "FAIL" in state.flags):
        return f"it is {state.words}: marked by somebody, or a program"
    if objection is None and "REBOOT_ISSUED" in state.flags:
        return f"it is {state.words}: it is rebooted first"
    return objection


def objection_to_drain_again(state: NodeState) -> str | None:
    """Why a node in quarantine must not be drained as it was before; whether slurmctld has heard from it does not matter."""
    if state.why_out is not None and our_reason(state) is None:
        return f"its reason is not ours: '{state.reason}'"
    if state.drain:
        return "it is drained already"
    if state.base == "DOWN":
        return f"it is {state.words}: it runs no jobs"
    return None


def objection_to_resume(state: NodeState, reason: str, reserved: bool = False) -> str | None:
    """Why a node must not be resumed: only a drain that carries ``reason`` still is the one that was decided on. ``reserved``:
    nobody else gets at it."""
    if not state.drain:
        return f"it is not drained but {state.words}"
    theirs = state.reason is not None and state.reason.startswith(DIED) and reason.endswith(f" : {state.reason}")
    if state.reason != reason and not theirs:
        return f"its reason has changed to '{state.reason}'"
    if state.dead:
        return f"it is {state.words}"
    if state.base == "ERROR":
        return f"it is {state.words}: marked by somebody, or a program"
    if state.rebooting:
        return f"it is {state.words}: it is rebooted first"
    # A node that was just resumed is not heard from for a moment: within a reservation that does no harm.
    flags = state.flags - {"NOT_RESPONDING"} if reserved else state.flags
    not_yet = next((why for flag, why in _NOT_YET.items() if flag in flags), None)
    if not_yet is not None:
        return f"it is {state.words}: {not_yet}"
    return unreadable(state)


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
