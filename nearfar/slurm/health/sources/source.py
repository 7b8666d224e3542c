"""What a source of evidence is given and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import Finding, Message


@dataclass(frozen=True)
class Now:
    """This moment on this node, as every source gets it.

    ``gpus``: index of each GPU by its bus id. ``uplinks``: the bridges above each GPU, nearest first. ``nvml``: the module
    ``pynvml``, initialised, or None where no driver answers. ``boot``: the kernel's name of this boot; ``at``: seconds since it
    (``CLOCK_BOOTTIME``, which no change of the wall clock moves). ``ports``: the InfiniBand ports that the site's file names;
    None: it says nothing. ``past``: what the source kept at its last look; empty at the first. ``node``: Slurm's name.
    """

    gpus: Mapping[str, int]
    boot: str | None
    at: float
    uplinks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    root: Path = Path("/")
    nvml: Any = None
    ports: tuple[str, ...] | None = None
    past: Mapping[str, Any] = field(default_factory=dict)
    node: str = ""

    @property
    def same_boot(self) -> bool:
        """Whether the last look was in this boot."""
        return bool(self.past) and self.past.get("boot") == self.boot

    def gpu(self, pci: str) -> dict[str, Any]:
        """The fields of a GPU: its index (None: the node has none at that place now) and bus id."""
        return {"gpu": self.gpus.get(pci), "pci": pci}

    def finding(self, message: Message, pci: str, part: str, **fields: Any) -> Finding:
        """A finding of a GPU's part, as ``g2.memory``; of one that the node does not have, by its bus id."""
        name = f"g{self.gpus[pci]}" if pci in self.gpus else pci
        return message.finding(f"{name}.{part}", **self.gpu(pci), **fields)


@dataclass(frozen=True)
class Seen:
    """What a source says. ``said``: in a few words what answered, empty where the node has no such thing. ``notes``: findings worth
    a line and no verdict. ``unread``: what could not be read, and why. ``past``: what it wants to find at its next look; None: what
    it found at this one."""

    said: str = ""
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
    past: Mapping[str, Any] | None = None
