"""Nodes that are drained again and again: how often, and since when, until a person has seen to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from nearfar.base import second_text
from nearfar.site import FlapRule


@dataclass
class Flaps:
    """``times``: when each node was drained by us, a time for each time that it had been in use before; ``in_use``: nodes that were
    resumed since, by whomever."""

    times: dict[str, list[float]] = field(default_factory=dict)
    in_use: set[str] = field(default_factory=set)

    def drained(self, node: str, at: float) -> None:
        """Take over a drain. One that was not resumed since is the same drain, tried again."""
        before = self.times.get(node, [])
        self.times[node] = [*(before if node in self.in_use else before[:-1]), at]
        self.in_use.discard(node)

    def resumed(self, node: str) -> None:
        """Take over that a node is in use again."""
        self.in_use.add(node)

    def seen_to(self, node: str) -> None:
        """A person has seen to a node: what was before counts no more. A node that is drained stays so for its last drain."""
        self.times.pop(node, None)

    def words(self, node: str, rule: FlapRule) -> str | None:
        """``drained 3 times since …``; None for a node that does not flap by the rule."""
        times = self.times.get(node, [])
        lately = [at for at in times if times[-1] - at <= rule.within]
        if len(lately) < rule.drains:
            return None
        often = "once" if len(lately) == 1 else f"{len(lately)} times"
        return f"drained {often} since {second_text(lately[0])}"
