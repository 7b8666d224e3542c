"""A node as ``scontrol show nodes`` shows it, read from the form with one subject a line.

That form, not the one-line form (``-o``): there a reason may hold ``Comment=``, a comment ``Reason=``, and nothing tells
where either ends. Here every free text begins its own line, and Slurm indents what follows a line break in a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from nearfar.base import CouldNotJudge, printable, printable_lines

#: Subjects whose line is one text to its end.
_TEXTS = ("OS", "Reason", "Comment", "Extra", "Features", "AvailableFeatures", "ActiveFeatures", "Gres", "Partitions")
#: What Slurm prints behind the reason.
_BEHIND = ("Comment", "Extra")
_SUBJECT = re.compile(r" {3}(?! )([A-Za-z][A-Za-z0-9_]*)=(.*)")
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z0-9_]*)=(\S*)")
#: Slurm puts who gave a reason, and when, behind the reason's first line.
_GIVEN = re.compile(r"(?:^|(?<=.)) ?\[([^\[\]\s@]+)@([^\[\]\s@]+)\]$")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
_CONTINUED = re.compile(r" {4,}(?=\S|$)")
#: Flags that say where a node came from, not what it does.
ORIGIN = frozenset({"CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE"})
#: The states and flags of Slurm 22.05 to 26.05 (node_states and node_state_flags of slurm_protocol_defs.c), and older names.
_BASES = frozenset(["DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED", "FUTURE", "UNKNOWN"])
_FLAGS = frozenset([
    "BLOCKED", "CLOUD", "COMPLETING", "DRAIN", "DYNAMIC_FUTURE", "DYNAMIC_NORM", "EXTERNAL", "FAIL", "INVALID_REG", "INVAL", "MAINTENANCE",
    "MAINT", "NOT_RESPONDING", "PERFCTRS", "PLANNED", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_DOWN", "POWER_UP",
    "POWER_DRAIN", "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED", "RESERVED", "RESUME", "UNDRAIN",
])  # fmt: skip
#: Of a node on which Slurm starts no job: it does not answer, is rebooted, or has registered otherwise than slurm.conf has it.
_UNUSABLE = frozenset(["INVALID_REG", "INVAL", "NOT_RESPONDING", "REBOOT_ISSUED"])
#: Seconds since 1970 from which on a time is one of Slurm's words for "none" (NO_VAL is 4294967294).
_NO_TIME = 0xFFFFFFF0


@dataclass(frozen=True)
class NodeState:
    """What slurmctld holds of a node. ``fields``: every other subject by Slurm's name, as text. ``reason`` and ``comment``, which people
    write, hold line breaks and what is printable: all else is as Python writes it (``\\x1b``).

    ``reason_at`` is in UTC; it and ``reason_by`` are None where Slurm did not say.
    """

    name: str
    base: str
    flags: frozenset[str] = frozenset()
    reason: str | None = None
    reason_by: str | None = None
    reason_at: datetime | None = None
    comment: str | None = None
    partitions: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def idle(self) -> bool:
        """Exactly IDLE: not drained, powered down, planned, reserved, or not responding; of a cloud or dynamic, or not."""
        return self.base == "IDLE" and self.flags <= ORIGIN

    @property
    def drain(self) -> bool:
        """Set to drain, whether or not jobs are still running."""
        return "DRAIN" in self.flags

    @property
    def out(self) -> bool:
        """Taken out of use: DRAIN, DOWN or FAIL. Only then its reason means anything (``slurm-versions.md``)."""
        return self.drain or self.base in ("DOWN", "FAIL") or "FAIL" in self.flags

    @property
    def why_out(self) -> str | None:
        """The reason that it is out of use for; None where it is in use or none was given."""
        return self.reason if self.out else None

    @property
    def rebooting(self) -> bool:
        """A reboot was asked for, or is under way."""
        return bool(self.flags & {"REBOOT", "REBOOT_REQUESTED", "REBOOT_ISSUED"})

    @property
    def busy(self) -> float | None:
        """When it was busy last, in seconds since 1970, at the earliest when it was resumed; None where Slurm does not know."""
        return seconds_of(self.fields.get("LastBusyTime", ""))

    @property
    def down(self) -> bool:
        """Taken by Slurm to be down or out of reach."""
        return self.base == "DOWN" or bool(self.flags & {"NOT_RESPONDING", "FAIL", "INVALID_REG"})

    @property
    def known_words(self) -> bool:
        """Whether every word of its state is one that this program knows."""
        return self.base in _BASES and self.flags <= _FLAGS

    @property
    def dead(self) -> bool:
        """Taken to be down because it does not answer."""
        return self.base == "DOWN" and "NOT_RESPONDING" in self.flags

    @property
    def usable(self) -> bool:
        """Whether jobs run on it, or could. One that is powered down could: Slurm starts it."""
        return not self.out and self.base in ("IDLE", "ALLOCATED", "MIXED") and not self.flags & _UNUSABLE

    @property
    def gone(self) -> bool:
        """A machine of a cloud that was given back, or is about to be: the next one of this name is another."""
        return "CLOUD" in self.flags and bool(self.flags & {"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"})

    @property
    def free_of_jobs(self) -> bool:
        """No job holds any CPU of it, nor is one still being cleaned up."""
        return self.fields.get("CPUAlloc") == "0" and "COMPLETING" not in self.flags and self.base in ("IDLE", "DOWN")

    @property
    def words(self) -> str:
        """``IDLE+DRAIN``."""
        return "+".join([self.base, *sorted(self.flags)])


def parse_nodes(text: str) -> dict[str, NodeState]:
    """All nodes by name from ``scontrol show nodes``. Raises ``CouldNotJudge``, which names the node, for a text that is not quite that:
    half a record, a node twice, a node without a state, a line that is no subject. Slurm ends each record with an empty line."""
    found: dict[str, NodeState] = {}
    for lines in _records(text):
        node = _node(lines)
        if node.name in found:
            raise CouldNotJudge(f"scontrol shows node {node.name} twice; nothing is concluded from that")
        found[node.name] = node
    return found


def _records(text: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("NodeName="):
            if lines:
                yield _whole(lines)
            lines = [line]
        elif lines:
            lines.append(line)
        elif line.strip():
            raise CouldNotJudge(f"scontrol shows no nodes but '{printable(line.strip()[:80])}'")
    if lines:
        # What follows the last line break is empty in a whole answer.
        yield _whole(lines[:-1] if not lines[-1] else lines)


def _whole(lines: list[str]) -> list[str]:
    if len(lines) < 2 or lines[-1]:
        where = f"at node '{printable(_PAIR.findall(lines[0])[0][1])}'; nothing is concluded from that"
        raise CouldNotJudge(f"scontrol's answer is cut off, or not as it should be, {where}")
    return lines


def _node(lines: list[str]) -> NodeState:
    fields = dict(_PAIR.findall(lines[0]))
    name = fields.get("NodeName", "")
    texts: dict[str, list[str]] = {}
    under = None
    for line in lines[1:]:
        subject = _SUBJECT.fullmatch(line)
        if subject is None:
            if under is not None and line.strip():
                texts[under].append(_CONTINUED.sub("", line))
            elif line.strip():
                raise CouldNotJudge(f"scontrol shows a line '{printable(line[:60])}' of node {name}; it is no subject")
            continue
        under = None
        if subject[1] in _TEXTS:
            if subject[1] in texts:
                raise CouldNotJudge(f"scontrol shows two lines {subject[1]}= of node {name}")
            if subject[1] == "Reason" and not texts.keys().isdisjoint(_BEHIND):
                words = "a comment that holds it, or another Slurm; nothing is concluded from that"
                raise CouldNotJudge(f"scontrol shows the reason of node {name} behind its comment: {words}")
            under = subject[1]
            texts[under] = [subject[2]]
        else:
            for key, value in _PAIR.findall(line):
                fields.setdefault(key, value)
    state = fields.get("State", "")
    comment = printable_lines("\n".join(texts["Comment"])) if "Comment" in texts else None
    if not name or not re.match("[A-Z]", state):
        raise CouldNotJudge(f"scontrol shows node '{name}' without a state; nothing is concluded from half an answer")
    base, *flags = state.split("+")
    reason, by, at = _reason(texts.get("Reason"))
    for key in set(_TEXTS) & set(texts) - {"Reason", "Comment"}:
        fields[key] = "\n".join(texts[key]).strip()
    partitions = fields.get("Partitions", "")
    return NodeState(
        name=name, base=base, flags=frozenset(flags), reason=reason, reason_by=by, reason_at=at,
        comment=None if comment == "(null)" else comment,  # sinfo says so of a node without one
        partitions=tuple(part for part in partitions.split(",") if part and part != "(null)"), fields=fields,
    )  # fmt: skip


def _reason(lines: list[str] | None) -> tuple[str | None, str | None, datetime | None]:
    if lines is None:
        return None, None, None
    given = _GIVEN.search(lines[0])
    first = lines[0] if given is None else lines[0][: given.start()]
    seconds = None if given is None else seconds_of(given[2])
    at = None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)
    return printable_lines("\n".join([first, *lines[1:]])), None if given is None else given[1], at


def seconds_of(text: str) -> float | None:
    """``2026-11-20T09:00:00``, which is UTC as scontrol is asked for it, in seconds since 1970; None for any other text."""
    if _TIME.fullmatch(text) is None:
        return None
    try:
        seconds = datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
    return seconds if seconds < _NO_TIME else None
