"""What a node can be asked: everything and nothing unjudged, what every night affords, or a few seconds' look."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.question import NIGHTLY, asked_at


@dataclass(frozen=True)
class Level:
    """``checks`` empty: all of them. ``minutes``: a job's time limit unless the caller names one; ``hours``: how long after
    the sweep began a job may still start and end. ``pairs``: MPI between nodes follows where the site has it.
    ``instead``: checks asked where the first of ``checks`` has no tool on the node."""

    words: str
    minutes: int
    hours: int
    checks: tuple[str, ...] = ()
    acceptance: bool = False
    quick: bool = False
    pairs: bool = False
    instead: tuple[str, ...] = ()


#: The second stage of a sweep; nobody asks for it alone.
PAIR = "mpi-pair"
#: What it asks where there is no OSU.
PING_PONG = "ping_pong_check"
LEVELS = {
    "accept": Level("all checks, and nothing unjudged is accepted", minutes=60, hours=48, acceptance=True, pairs=True),
    "nightly": Level(
        "topology, host memory, every path between memory and GPUs and between GPUs", minutes=20, hours=6,
        checks=tuple(question.name for question in asked_at(NIGHTLY)),
    ),
    "quick": Level("a quick look at every path", minutes=10, hours=2, quick=True),
    PAIR: Level(
        "MPI between two nodes, through every NIC; without OSU a ping-pong of our own", minutes=60, hours=24,
        checks=("osu_check",), instead=(PING_PONG,),
    ),
}  # fmt: skip

#: What a user can ask for.
CHOICES = tuple(name for name in LEVELS if name != PAIR)
