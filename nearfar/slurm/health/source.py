"""What a source of evidence is judged with, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nearfar.base import Finding, Message


@dataclass(frozen=True)
class Now:
    """This moment on this node, for one source."""

    #: Index of each GPU by its bus id.
    gpus: Mapping[str, int]
    #: The kernel's name of this boot.
    boot: str | None
    #: Seconds since boot (``CLOCK_BOOTTIME``, which no change of the wall clock moves).
    at: float
    #: What the source kept at its last check; empty at the first.
    past: Mapping[str, Any] = field(default_factory=dict)

    @property
    def same_boot(self) -> bool:
        """Whether the last check was in this boot."""
        return bool(self.past) and self.past.get("boot") == self.boot

    def finding(self, message: Message, pci: str, part: str, **fields: Any) -> Finding:
        """A finding of a GPU's part, as ``g2.memory``; of one that the node does not have, by its bus id."""
        index = self.gpus.get(pci)
        return message.finding(f"{pci if index is None else f'g{index}'}.{part}", gpu=index, pci=pci, **fields)


@dataclass(frozen=True)
class Seen:
    """What a source answers."""

    #: In a few words what answered; empty where the node has no such thing.
    said: str = ""
    findings: tuple[Finding, ...] = ()
    #: Findings worth a line and no verdict.
    notes: tuple[Finding, ...] = ()
    #: What could not be read, and why.
    unread: tuple[str, ...] = ()
    #: What the source wants to find at its next check; empty: nothing.
    past: Mapping[str, Any] = field(default_factory=dict)
