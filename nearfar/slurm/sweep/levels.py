"""What a node can be asked: everything and nothing unjudged, what every night affords, or a few seconds' look."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from nearfar.question import NIGHTLY, OSU, OWN, QUESTIONS, asked_at


@dataclass(frozen=True)
class Level:
    """``asks``: checks; ``asks_as``: those of a level of the questions. ``minutes``: a job's time limit unless the caller names one;
    ``hours``: how long after the sweep began a job may still start and end. ``pairs``: MPI between nodes follows where the site has it.
    ``instead``: checks asked where the first of ``asks`` has no tool on the node."""

    words: str
    minutes: int
    hours: int
    asks: tuple[str, ...] = ()
    acceptance: bool = False
    quick: bool = False
    pairs: bool = False
    instead: tuple[str, ...] = ()
    asks_as: str = ""

    @cached_property
    def checks(self) -> tuple[str, ...]:
        """The checks that it asks; none: all of them."""
        return tuple(question.name for question in asked_at(self.asks_as)) if self.asks_as else self.asks


#: The second stage of a sweep; nobody asks for it alone.
PAIR = "mpi-pair"
#: What it asks where there is no OSU.
PING_PONG = next(each.name for each in QUESTIONS if each.between_nodes == OWN)
LEVELS = {
    "accept": Level("all checks, and nothing unjudged is accepted", minutes=60, hours=48, acceptance=True, pairs=True),
    "nightly": Level(
        "topology, host memory, every path between memory and GPUs and between GPUs", minutes=20, hours=6,
        asks_as=NIGHTLY,
    ),
    "quick": Level("a quick look at every path", minutes=10, hours=2, quick=True),
    PAIR: Level(
        "MPI between two nodes, through every NIC; without OSU a ping-pong of our own", minutes=60, hours=24,
        asks=tuple(each.name for each in QUESTIONS if each.between_nodes == OSU), instead=(PING_PONG,),
    ),
}  # fmt: skip

#: What a user can ask for.
CHOICES = tuple(name for name in LEVELS if name != PAIR)
