"""What a source of evidence is given and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import Finding


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


@dataclass(frozen=True)
class Seen:
    """What a source says. ``said``: in a few words what answered, empty where the node has no such thing. ``notes``: worth a line
    and no finding. ``unread``: what could not be read, and why. ``past``: what it wants to find at its next look; None: what it
    found at this one."""

    said: str = ""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    past: Mapping[str, Any] | None = None


def item(now: Now, pci: str, part: str = "") -> str:
    """A GPU's part as findings name it: ``g2.memory``; of one that the node does not have, its bus id."""
    name = f"g{now.gpus[pci]}" if pci in now.gpus else pci
    return f"{name}.{part}" if part else name


def gpu_name(now: Now, pci: str) -> str:
    """A GPU as sentences name it."""
    return f"GPU {now.gpus[pci]}" if pci in now.gpus else f"the device at {pci}, which is none of this node's GPUs now"
