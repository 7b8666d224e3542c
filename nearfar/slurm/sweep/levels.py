"""What a node can be asked: everything and nothing unjudged, what every night affords, or a few seconds' look."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.question import NIGHTLY, OSU, OWN, asked_at, between_nodes


@dataclass(frozen=True)
class Level:
    """``asks``: the checks of a level of the questions; ``between_nodes``: those between two nodes. ``minutes``: a job's time limit
    unless the caller names one; ``hours``: how long after the sweep began a job may still start and end."""

    words: str
    minutes: int
    hours: int
    acceptance: bool = False
    quick: bool = False
    asks: str = ""
    between_nodes: bool = False

    @property
    def checks(self) -> tuple[str, ...]:
        """The checks that it asks; none: all of them."""
        if self.between_nodes:
            return between_nodes(OSU)
        return tuple(question.name for question in asked_at(self.asks)) if self.asks else ()

    @property
    def instead(self) -> tuple[str, ...]:
        """The checks that it asks of a node without OSU; none: ``checks``."""
        return between_nodes(OWN) if self.between_nodes else ()


#: The second stage of a sweep; nobody asks for it alone.
PAIR = "mpi-pair"
LEVELS = {
    "accept": Level("all checks, and nothing unjudged or DEGRADED is accepted", minutes=60, hours=48, acceptance=True),
    "nightly": Level(
        "topology, host memory, every path between memory and GPUs and between GPUs, GPU compute", minutes=20, hours=6,
        asks=NIGHTLY,
    ),
    "quick": Level("every path once, in seconds", minutes=10, hours=2, quick=True),
    PAIR: Level(
        "MPI between two nodes, through every NIC; without OSU a ping-pong of our own", minutes=60, hours=24,
        between_nodes=True,
    ),
}  # fmt: skip

#: What a user can ask for.
CHOICES = tuple(name for name in LEVELS if name != PAIR)
