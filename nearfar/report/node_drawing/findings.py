"""What is known of a node beside its parts, as the drawing shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from nearfar.base import Finding
from nearfar.report.figures import SIGNS, Figure


@dataclass(frozen=True)
class Findings:
    """What is known beside the node itself. Keys are GPU numbers; ``lanes`` has the near figures of ``h2d`` and ``d2h`` for each;
    ``shared`` is what each link that devices share carries, by ``switch:`` and the PCI bridge (``↓ ≥ 24.6 ↑ ≥ 25.1``) and by ``p0-p1``;
    ``blamed`` are the parts that explain what is slow (``g2.link``, ``n0.memory``), with their mark's verdict, ``explained`` the cells that
    are slow because of them; ``ring`` says of each GPU where NCCL's ring goes on."""

    lanes: dict[int, dict[str, Figure]] = field(default_factory=dict)
    links: dict[int, str] = field(default_factory=dict)
    absent: dict[int, str] = field(default_factory=dict)
    faults: dict[int, Finding] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    blamed: dict[str, str] = field(default_factory=dict)
    explained: frozenset[str] = frozenset()
    ring: dict[int, str] = field(default_factory=dict)

    def mark(self, *parts: str) -> str:
        """The verdict that a part which stands in the drawing is marked with; empty where none of its names (a name, or its beginning up
        to a dot) is blamed."""
        blamed = ((f"{part}.", word) for part, word in self.blamed.items())
        return next((word for part, word in blamed for own in parts if part.startswith(f"{own}.")), "")


def marked(words: str, mark: str) -> str:
    """The words of a part with the sign of its mark, where it has one."""
    return f"{words} {SIGNS[mark]}" if mark else words
