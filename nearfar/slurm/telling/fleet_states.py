"""Each node's state as one word: what a dashboard counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from nearfar.slurm.act import view
from nearfar.slurm.findings import drained_by_us

GOOD, SUSPECT, OURS, OTHERS, DOWN, NOT_SEEN = (
    "good", "suspect", "drained_by_nearfar", "drained_by_others", "down", "not_seen",
)  # fmt: skip
STATES = (GOOD, SUSPECT, OURS, OTHERS, DOWN, NOT_SEEN)


def of_nodes(seen: view.ActView, suspects: Collection[str], max_age: float) -> Mapping[str, str]:
    """The state of every node of Slurm, the first that holds: drained with a reason of ours, drained by others, down, something stands
    against it (``suspects``), no result and no look within ``max_age`` seconds, good."""
    newest: dict[str, float] = {}
    for run in seen.runs:
        newest[run.node] = max(run.known, newest.get(run.node, run.known))
    found = {}
    for name, node in seen.nodes.items():
        if drained_by_us(node):
            found[name] = OURS
        elif node.drain:
            found[name] = OTHERS
        elif node.out or node.down:
            found[name] = DOWN
        elif name in suspects:
            found[name] = SUSPECT
        else:
            found[name] = GOOD if seen.now - newest.get(name, -max_age) <= max_age else NOT_SEEN
    return found
