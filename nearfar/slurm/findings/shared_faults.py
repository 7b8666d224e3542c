"""What is found on many nodes at once: it is a reference, a driver or the power, and not the nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from nearfar.site import Policy
from nearfar.slurm.ledger import Evidence

#: The code of a cell that arrived wrong.
WRONG_DATA = "cell.wrong_data"
#: What a part's letter stands for.
_PARTS = {"g": "a GPU", "n": "a NUMA node"}


@dataclass(frozen=True)
class SharedFault:
    """What is found on so many nodes at once that it is not the nodes: a figure outside its bounds, or ``hard`` evidence."""

    check: str
    metric: str
    nodes: tuple[str, ...]
    tested: int
    hard: bool = False

    @property
    def key(self) -> tuple[str, str, bool]:
        """What ``Evidence.metric`` is of what it explains."""
        return self.check, self.metric, self.hard

    @property
    def words(self) -> str:
        """One sentence."""
        if self.hard:
            what = f"{self.check} {_PARTS.get(self.metric, self.metric)}"
            return (
                f"{what} is hard evidence on {len(self.nodes)} of {self.tested} nodes at once: check the driver, recent "
                "changes and the power; no node is drained for it until you decide"
            )
        return (
            f"{self.check} {self.metric} fails on {len(self.nodes)} of {self.tested} nodes at once: check its reference or the "
            f"driver; no node is drained for it"
        )


def blamed(
    found: Mapping[str, Sequence[Evidence]], tested: Mapping[str, Collection[str]], policy: Policy
) -> list[SharedFault]:
    """What is found on many nodes at once (less than ``max_age`` apart), confirmed or not. Which GPU or NUMA node it was does not
    matter. Wrong data is never among it: whatever its cause, jobs on these nodes would have it too, and not know.

    ``found``: by node, closed evidence as well. It counts with what is open and was found before it was closed, so that clearing half
    of the nodes leaves the other half as they were; what is found after it is another fault. ``tested``: the nodes that each check
    ran on within ``max_age``.
    """
    failing: dict[tuple[str, str, bool], list[tuple[Evidence, str]]] = defaultdict(list)
    for node, these in found.items():
        for each in these:
            if each.finding.code != WRONG_DATA and each.finding.subject:
                failing[each.metric].append((each, node))
    blames = []
    for (check, metric, hard), places in sorted(failing.items()):
        first = min((each.found_by.known for each, _ in places if each.closed_at == inf), default=inf)
        counted = [(each.found_by.known, node) for each, node in places if each.closed_at > first]
        open_ = {node for each, node in places if each.closed_at == inf}
        for nodes in _at_once(counted, policy.max_age):
            of = len({*tested.get(check, ()), *nodes})
            many = len(nodes) >= max(policy.same_metric.nodes, 2) and len(nodes) >= policy.same_metric.share * of
            if many and not nodes.isdisjoint(open_):
                blames.append(SharedFault(check, metric, tuple(sorted(nodes)), of, hard))
    return blames


def _at_once(places: Sequence[tuple[float, str]], apart: float) -> Iterator[set[str]]:
    """The nodes of (time, node) in groups, each less than ``apart`` seconds after the one before."""
    group: set[str] = set()
    before = 0.0
    for at, node in sorted(places):
        if group and at - before > apart:
            yield group
            group = set()
        group.add(node)
        before = at
    if group:
        yield group
