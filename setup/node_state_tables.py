"""What docs/reference/states.md says of a node's states, and the tests hold ``nearfar slurm act`` to: what it does in each, how a node
comes from one to another, and what never happens."""

from __future__ import annotations

from typing import NamedTuple

from nearfar.slurm.act.node_states import (
    CLEARED,
    DRAINED,
    GOOD,
    HELD,
    NOT_MEASURED,
    OTHERS,
    RETEST,
    SUSPECT,
    TO_DRAIN,
    UNJUDGED,
)  # fmt: skip

#: What ``act`` does with a node in some states; in all others nothing.
ACT_DOES = {
    HELD: "nothing until the drain is allowed",
    RETEST: "drains it again if the retest is interrupted",
    TO_DRAIN: "drains it",
}
#: What ``act`` and the other commands never do.
NEVER = (
    "Change a drain or a reason that somebody else has written.",
    "Drain more nodes than the caps allow, even if `act` is killed in the middle.",
    "Leave a partition with fewer usable nodes than the floor, whoever took the others out of use.",
    "Resume a node, unless a retest passed the check that drained it or an administrator typed `clear`.",
    "Close hard evidence because of a passing run, a reboot, or a drain and resume by others.",
    "Act on a file that anybody but root and the users in `trusted` could have written, that is cut short, or that is from another node "
    "or cluster.",
    "Drain a node for what could not be judged, for one slow run, or for a check that the system file only lets nearfar observe.",
    "Drain a node for MPI between pairs of nodes.",
    "Drain a node for a fault that many nodes have at once, except for wrong data.",
    "Act on a node whose state is not known, or if Slurm's answer cannot be read.",
    "Act before the ledger has recorded it, or from two hosts on one cluster's ledger.",
)


class Transition(NamedTuple):
    """How a node comes from one state to another, and by whom."""

    before: str
    event: str
    after: str
    who: str


ANY = "any in use"
TRANSITIONS = (
    Transition(ANY, "a run passes, and no hard evidence is open", GOOD, "sweep"),
    Transition(ANY, "a run could not be judged", UNJUDGED, "sweep"),
    Transition(ANY, "a slow figure, not confirmed yet", SUSPECT, "sweep"),
    Transition(ANY, "a slow figure is confirmed by a second run, or hard evidence is found", TO_DRAIN, "sweep, health"),
    Transition(ANY, "no run within `max_age`", NOT_MEASURED, "time"),
    Transition(
        TO_DRAIN,
        "a cap, a partition's floor, the same on many nodes, or the system file forbids the drain",
        HELD,
        "act",
    ),
    Transition(HELD, "the cap or the floor has room", TO_DRAIN, "act"),
    Transition(TO_DRAIN, "drained with its reason", DRAINED, "act; the node itself on hard evidence"),
    Transition(DRAINED, "reserved, and resumed inside the reservation", RETEST, "retest"),
    Transition(RETEST, "every check that matters passes", GOOD, "retest"),
    Transition(RETEST, "one does not, or the retest is interrupted", DRAINED, "retest, act"),
    Transition(
        DRAINED,
        "`nearfar slurm clear`, or `scontrol update state=resume` while the drain has nearfar's reason",
        CLEARED,
        "administrator",
    ),
    Transition(HELD, "`nearfar slurm clear`", CLEARED, "administrator"),
    Transition(DRAINED, "another reason replaces nearfar's", OTHERS, "administrator, or a program"),
    Transition(ANY, "drained or down, not by nearfar", OTHERS, "Slurm, administrator"),
    Transition(OTHERS, "resumed, and hard evidence is open", TO_DRAIN, "administrator, or a program"),
    Transition(CLEARED, "a run passes", GOOD, "sweep"),
)
