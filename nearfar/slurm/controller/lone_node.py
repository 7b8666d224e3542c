"""One node's state, reason and comment from ``sinfo``, which asks slurmctld for that node alone.

``scontrol show node NAME`` fetches the table of all nodes to show one of them (22.05 to 25.11).
"""

from __future__ import annotations

from .node_state import BASES, NodeState, state_of

#: Ends a free text; no option of sinfo quotes one.
_END = "<nearfar>"
_FORMAT = f"NodeList:|,StateComplete:|,Comment:{_END},Reason:{_END}"


def question(name: str) -> tuple[str, ...]:
    """The command."""
    return "sinfo", "--all", "--noheader", "--Node", f"--nodes={name}", f"--Format={_FORMAT}"


def parse(text: str, name: str) -> NodeState | None:
    """The node in the answer; None where that does not say it exactly: half an answer, a node of no partition, texts of several
    lines or with blanks at an end (``scontrol`` shows them otherwise), or no reason where one may be called so."""
    rows = set(filter(None, (row.lstrip("\n") for row in text.split(f"{_END}\n"))))
    if len(rows) != 1 or not text.endswith(f"{_END}\n"):
        return None  # a row for each partition, all alike
    shown, _, rest = rows.pop().partition("|")
    state, _, texts = rest.partition("|")
    comment, _, reason = texts.partition(_END)
    base, flags = state_of(state.upper())
    if shown != name or base not in BASES or _END in reason or _END not in texts:
        return None
    if any(text != text.strip() or "\n" in text for text in (comment, reason)):
        return None
    found = NodeState(name, base, flags, reason=reason, comment=None if comment == "(null)" else comment)
    if reason != "none":
        return found
    return None if found.out else NodeState(name, base, flags, comment=found.comment)
