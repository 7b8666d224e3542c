"""What a sweep, and one of idle nodes alone, do with a node in each of Slurm's states; locks."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.slurm.controller.node_state import NodeState, parse_nodes
from nearfar.slurm.controller.scontrol import Slurm
from nearfar.slurm.sweep import begin_or_resume, slurm_jobs
from tests.conftest import CHECKOUT

GUIDE = CHECKOUT / "docs/slurm.md"

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
    assert (begin_or_resume.refusal(node(state)), begin_or_resume.occupation(node(state))) == STATES[state]


def test_a_node_that_slurm_does_not_show() -> None:
    words = "Slurm shows no such node any more"
    assert (begin_or_resume.refusal(None), begin_or_resume.occupation(None)) == (words, words)


def test_the_guide_says_the_same() -> None:
    rows = re.findall(r"^\| `([^|]*)` \| ([^|]*) \| ([^|]*) \|", GUIDE.read_text(), re.MULTILINE)
    told = {state: (plain, idle) for states, plain, idle in rows for state in states.split("`, `") if state in STATES}
    assert set(told) == set(STATES)
    for state, (plain, idle) in told.items():
        assert (plain.startswith("left out"), not idle.startswith("measured")) == tuple(
            why is not None for why in STATES[state]
        ), state


def test_a_controller_that_nobody_knows(tmp_path: Path) -> None:
    """The line names what is wrong, and nothing is waited for (as Slurm 22.05 says it)."""
    made_up = tmp_path / "scontrol"
    made_up.write_text(
        "#!/bin/sh\nexec >&2\necho 'scontrol: error: slurm_set_addr: Unable to resolve \"nowhere\"'\n"
        "echo 'slurm_load_partitions error: No error'\nexit 1\n"
    )
    made_up.chmod(0o755)
    with pytest.raises(CouldNotJudge, match='Unable to resolve "nowhere"') as told:
        slurm_jobs.partition_nodes(Slurm({"PATH": str(tmp_path)}), "gpu")
    assert not slurm_jobs.passing(told.value)


# The lock of a results directory.


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refused)
    with pytest.raises(CouldNotJudge, match="cannot be locked: No locks available; its file system has no locks"):
        with begin_or_resume.lock(tmp_path):
            pass
