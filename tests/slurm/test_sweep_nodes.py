"""What a sweep, and one of idle nodes alone, do with a node in each of Slurm's states; a slurmctld that is away at first."""

from __future__ import annotations

import re

import pytest

from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.base.files import CHECKOUT
from nearfar.slurm.controller.node_state import NodeState, parse_nodes
from nearfar.slurm.sweep import node_selection, slurmctld

GUIDE = CHECKOUT / "docs/guide/slurm.md"
AWAY = CouldNotJudge(
    "scontrol show partition: slurm_load_partitions error: Unable to contact slurm controller (connect failure)"
)

#: Each state as scontrol shows it: why a plain sweep leaves it out, why one of idle nodes does (None: it gets a job).
STATES: dict[str, tuple[str | None, str | None]] = {
    "IDLE": (None, None),
    "IDLE+CLOUD": (None, None),
    "IDLE+DYNAMIC_NORM": (None, None),
    "IDLE+DYNAMIC_FUTURE": (None, None),
    "IDLE+CLOUD+POWERED_DOWN": (None, "powered down"),
    "IDLE+POWERED_DOWN": (None, "powered down"),
    "IDLE+CLOUD+POWERING_UP": (None, "powering up"),
    "IDLE+POWERING_DOWN": (None, "powering down"),
    "IDLE+PLANNED": (None, "planned"),
    "IDLE+RESERVED": (None, "reserved"),
    "IDLE+MAINTENANCE": (None, "maintenance"),
    "IDLE+COMPLETING": (None, "completing"),
    "IDLE+BLOCKED": (None, "blocked"),
    "IDLE+REBOOT_REQUESTED": (None, "reboot requested"),
    "IDLE+REBOOT_ISSUED": (None, "reboot issued"),
    "IDLE+NOT_RESPONDING": (None, "not responding"),
    "ALLOCATED": (None, "allocated"),
    "MIXED+CLOUD": (None, "mixed"),
    "IDLE+DRAIN": ("drained: fan", "drained: fan"),
    "ALLOCATED+DRAIN": ("drained: fan", "drained: fan"),
    "DOWN+NOT_RESPONDING": ("down: fan", "down: fan"),
    "IDLE+FAIL": ("failing: fan", "failing: fan"),
    "IDLE+INVALID_REG": ("wrongly registered: fan", "wrongly registered: fan"),
    "FUTURE": ("future: no machine has this name yet", "future"),
    "UNKNOWN": (None, "unknown"),
}


def node(state: str) -> NodeState:
    text = f"NodeName=n1 Arch=x86_64 \n   State={state} ThreadsPerCore=1\n   Reason=fan\n\n"
    return parse_nodes(text)["n1"]


@pytest.mark.parametrize("state", STATES)
def test_what_is_done_with_each_state(state: str) -> None:
    assert (node_selection.refusal(node(state)), node_selection.occupation(node(state))) == STATES[state]


def test_a_node_that_slurm_does_not_show() -> None:
    words = "Slurm shows no such node any more"
    assert (node_selection.refusal(None), node_selection.occupation(None)) == (words, words)


def test_the_guide_says_the_same() -> None:
    rows = re.findall(r"^\| `([^|]*)` \| ([^|]*) \| ([^|]*) \|", GUIDE.read_text(), re.MULTILINE)
    told = {state: (plain, idle) for states, plain, idle in rows for state in states.split("`, `") if state in STATES}
    assert set(told) == set(STATES)
    for state, (plain, idle) in told.items():
        assert (plain.startswith("left out"), not idle.startswith("measured")) == tuple(
            why is not None for why in STATES[state]
        ), state


# slurmctld at the first question.


def waited(answers: list[Exception], limit: float) -> tuple[list[str], float]:
    """What was said while it was waited for, and for how long; a question takes ten seconds."""
    now, said = [0.0], []

    def ask() -> str:
        now[0] += 10.0
        if answers:
            raise answers.pop(0)
        return "nodes"

    def sleep(seconds: float) -> None:
        now[0] += seconds

    assert slurmctld.waited_for(ask, limit, said.append, lambda: now[0], sleep) == "nodes"
    return said, now[0]


def test_a_slurmctld_that_is_away_at_first_is_waited_for_in_words() -> None:
    said, took = waited([AWAY] * 20, 3600)
    assert said[0] == "slurmctld does not answer; waiting, 10 s so far; Ctrl-C ends"
    assert said[-1] == "slurmctld answers again" and len(said) == 4 and took == 310


def test_it_is_waited_for_until_the_deadline() -> None:
    with pytest.raises(NearfarError, match=r"connect failure\); waited \d+ s, and nothing was begun"):
        waited([AWAY] * 1000, 600)


@pytest.mark.parametrize(
    "error",
    [
        CouldNotJudge("scontrol show partition: scontrol: fatal: Unable to process configuration file"),
        CouldNotJudge("scontrol show partition: scontrol: fatal: Could not establish a configuration source"),
        NearfarError("scontrol: not found; run this where Slurm's commands are on the PATH"),
    ],
)
def test_what_no_waiting_mends_ends_at_once(error: NearfarError) -> None:
    with pytest.raises(NearfarError) as told:
        waited([error], 3600)
    assert told.value is error
