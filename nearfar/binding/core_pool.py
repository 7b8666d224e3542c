"""Giving out cores: each once, near what a rank wishes for, and the next nearest when these are used up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.base import NearfarError
from nearfar.topology import Node, format_cpu_list

from .locality import cores_of, nearest

Core = tuple[int, ...]


@dataclass(frozen=True)
class CoreRequest:
    """``count`` cores for ``rank`` (``None``: as many as all ranks can have) on the NUMA nodes ``homes``, for ``what``."""

    rank: int
    homes: tuple[int, ...]
    count: int | None
    what: str


class CorePool:
    """The cores that are not given out yet, by NUMA node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.all = {n.index: cores_of(node, n.index) for n in node.numa_nodes if n.cpus}
        self.free = {index: list(cores) for index, cores in self.all.items()}

    def allot(self, wishes: Sequence[CoreRequest], oversubscribe: bool) -> dict[CoreRequest, list[Core]]:
        """The cores of each wish. Raises ``NearfarError`` for a wished NUMA node that the cpuset hides, and for too few
        cores unless they may be shared."""
        for wish in wishes:
            self._refuse_hidden(wish)
        counts = {wish: wish.count or self._share(wish, wishes) for wish in wishes}
        total, there = sum(counts.values()), sum(map(len, self.all.values()))
        if total > there and not oversubscribe:
            ranks = len({wish.rank for wish in wishes})
            raise NearfarError(
                f"{self.node.hostname} has {there} cores to give, and {ranks} ranks need {total}: "
                f"take fewer ranks or threads, or share cores with --oversubscribe"
            )
        # A wish that is content with several NUMA nodes must not take the cores that another can only have on one.
        first = sorted(wishes, key=lambda wish: (len(wish.homes), wishes.index(wish)))
        if oversubscribe:
            return self._shared(first, counts)
        return {wish: self._take(wish, counts[wish]) for wish in first}

    def _refuse_hidden(self, wish: CoreRequest) -> None:
        if any(self.all[home] for home in wish.homes):
            return
        names = " and ".join(f"n{home}" for home in wish.homes)
        left = [f"n{index}" for index, cores in self.all.items() if cores]
        allowed = format_cpu_list(self.node.allowed_cpus or ())
        raise NearfarError(
            f"the cpuset allows no CPU of {names}, {wish.what} (allowed: CPUs {allowed} of "
            f"{', '.join(left) or 'no NUMA node'}); ask for the whole node, or leave that device out"
        )

    def _share(self, wish: CoreRequest, wishes: Sequence[CoreRequest]) -> int:
        """The largest number of cores that all the wishes without a number can have on their own NUMA nodes."""
        shares = []
        for homes in {other.homes for other in wishes}:
            inside = [other for other in wishes if set(other.homes) <= set(homes)]
            open_ones = sum(other.count is None for other in inside)
            there = sum(len(self.all[home]) for home in homes) - sum(other.count or 0 for other in inside)
            if open_ones:
                shares.append(there // open_ones)
        return max(1, min(shares))

    def _take(self, wish: CoreRequest, count: int) -> list[Core]:
        """From the wish's own NUMA nodes; else from the nearest one that has enough; else from several, nearest first."""
        order = [n.index for n in nearest(self.node, wish.homes[0], self.node.numa_nodes) if n.index in self.free]
        own = [index for index in order if index in wish.homes]
        others = [index for index in order if index not in wish.homes]
        enough = [index for index in others if len(self.free[index]) >= count]
        sources = own if sum(len(self.free[index]) for index in own) >= count else enough[:1] or own + others
        taken: list[Core] = []
        for index in sources:
            wanted = count - len(taken)
            taken += self.free[index][:wanted]
            del self.free[index][:wanted]
        return taken

    def _shared(self, wishes: Sequence[CoreRequest], counts: dict[CoreRequest, int]) -> dict[CoreRequest, list[Core]]:
        """Every wish stays at home; where its NUMA nodes have too few cores, their cores go round."""
        given: dict[CoreRequest, list[Core]] = {}
        next_core: dict[tuple[int, ...], int] = {}
        for wish in wishes:
            cores = [core for home in wish.homes for core in self.all[home]]
            if counts[wish] > len(cores):
                names = " and ".join(f"n{home}" for home in wish.homes)
                raise NearfarError(
                    f"{counts[wish]} threads are more than the {len(cores)} cores of {names}, {wish.what}, where ranks "
                    f"that share cores stay; take fewer threads per rank"
                )
            start = next_core.get(wish.homes, 0)
            given[wish] = [cores[(start + i) % len(cores)] for i in range(counts[wish])]
            next_core[wish.homes] = start + counts[wish]
        return given
