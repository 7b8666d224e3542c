"""Binding schemes on a node: where each rank of a program goes under ``right``, ``wrong``, ``0-1-1`` and the others. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.base import NearfarError
from nearfar.binding import scheme_names
from nearfar.mpi import RankPlan
from nearfar.topology import Node

from .layouts import Job, layout_of


@dataclass(frozen=True)
class Scheme:
    """A scheme on this node. ``places`` by rank, None where the launcher alone decides; ``left_out`` is why it does not apply."""

    name: str
    ranks: int
    places: tuple[RankPlan, ...] | None = None
    left_out: str = ""

    @property
    def words(self) -> str:
        """What it is."""
        return scheme_names.SCHEMES.get(self.name) or f"NUMA nodes of the ranks: {', '.join(self.name.split('-'))}"


def schemes_on(node: Node, names: Sequence[str], job: Job) -> list[Scheme]:
    """The schemes on this node, in the order of the names. One that the node cannot have is left out with the reason; ``right`` that
    it cannot have raises ``NearfarError``, as the ranks do not fit at all."""
    right = layout_of(node, "right", job)
    schemes = []
    for name in names:
        if name == "default":
            schemes.append(Scheme(name, job.ranks))
            continue
        try:
            places = (
                right.places
                if name == "right"
                else layout_of(node, name, job, scheme_names.numa_nodes(name), right).places
            )
        except NearfarError as error:
            schemes.append(Scheme(name, job.ranks, None, str(error)))
            continue
        schemes.append(Scheme(name, len(places), places))
    return schemes
