"""A node's state, reason and comment as ``sinfo`` says them; what it cannot say exactly is asked of ``scontrol``."""

from __future__ import annotations

import pytest

from nearfar.slurm.controller import NodeState, lone_node
from nearfar.slurm.controller.node_state import parse_nodes


def row(state: str, reason: str = "none", comment: str = "(null)", name: str = "n1") -> str:
    return f"{name}|{state}|{comment}<nearfar>{reason}<nearfar>\n"


@pytest.mark.parametrize(
    ("text", "node"),
    [
        (row("idle"), NodeState("n1", "IDLE")),
        (row("idle") * 2, NodeState("n1", "IDLE")),
        (row("idle+drain", "nearfar: a|b"), NodeState("n1", "IDLE", frozenset({"DRAIN"}), reason="nearfar: a|b")),
        (row("mixed", comment="ours"), NodeState("n1", "MIXED", comment="ours")),
        (row("idle", "kept since its resume"), NodeState("n1", "IDLE", reason="kept since its resume")),
        (row("idle+not_responding"), NodeState("n1", "IDLE", frozenset({"NOT_RESPONDING"}))),
    ],
)
def test_what_sinfo_says_exactly(text: str, node: NodeState) -> None:
    assert lone_node.parse(text, "n1") == node


@pytest.mark.parametrize(
    "text",
    [
        "",
        row("idle+drain"),
        row("down"),
        row("idle+drain", "one\ntwo"),
        row("idle+drain", "blank "),
        row("idle", comment="one\ntwo"),
        row("idle", name="n2"),
        row("idle") + row("mixed"),
        row("idle")[:-12],
        row("idle")[:5],
        row("n/a"),
        row("idle+drain", "a<nearfar>b"),
        "slurm says something else\n",
    ],
)
def test_what_it_cannot_say_exactly(text: str) -> None:
    assert lone_node.parse(text, "n1") is None


def test_a_comment_that_is_called_as_none_is_the_same_in_both_answers() -> None:
    whole = "NodeName=n1 Arch=x86_64\n   State=IDLE ThreadsPerCore=1\n   Comment=(null)\n\n"
    assert parse_nodes(whole)["n1"].comment is None
    assert lone_node.parse(row("idle", comment="(null)"), "n1") == NodeState("n1", "IDLE")
