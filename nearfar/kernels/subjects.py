"""What a kernel's result is about: ``g0.n1``, GPU 0 computes, operands come from and results return to NUMA node 1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.cells import Cell
from nearfar.topology import Node, host_class

#: The classes of a GPU's best path, that others are held against.
NEAR = ("near", "sole")
#: How the ranks of a run under MPI were bound.
BINDINGS = ("default", "right", "wrong")
_SUBJECT = re.compile(rf"(?P<gpu>[gc]\d+)\.n(?P<numa>\d+)(?:/(?P<binding>{'|'.join(BINDINGS)}))?")


@dataclass(frozen=True)
class KernelSubject:
    """``device`` is ``g0``, or ``c0`` where the cores of NUMA node 0 compute. ``binding``: of a rank under MPI; empty without."""

    device: str
    numa: int
    binding: str = ""

    def __str__(self) -> str:
        """``g0.n1``, ``g0.n1/right``."""
        return f"{self.device}.n{self.numa}{f'/{self.binding}' if self.binding else ''}"

    @property
    def gpu(self) -> int | None:
        """The GPU's index; None where cores compute."""
        return int(self.device[1:]) if self.device[0] == "g" else None

    @property
    def word(self) -> str:
        """As names have it: ``g0_n1``, ``g0_n1_right``."""
        return str(self).replace(".", "_").replace("/", "_")

    @property
    def words(self) -> str:
        """``GPU 0, operands in NUMA node 1``."""
        who = f"cores of NUMA node {self.device[1:]}" if self.gpu is None else f"GPU {self.gpu}"
        bound = f", ranks bound {self.binding}" if self.binding else ""
        return f"{who}, operands in NUMA node {self.numa}{bound}"

    def path_class(self, node: Node) -> str:
        """The class of the path between the memory and what computes, by ``node``; ``unknown`` where it lacks one of them."""
        memories = [numa.index for numa in node.host_numa_nodes]
        if self.numa not in memories:
            return "unknown"
        if self.gpu is not None:
            return host_class(node, self.numa, self.gpu) if node.gpu(self.gpu) is not None else "unknown"
        if memories == [self.numa]:
            return "sole"
        if self.numa == int(self.device[1:]):
            return "near"
        packages = [
            found.package for at in (self.numa, int(self.device[1:])) if (found := node.numa_node(at)) is not None
        ]
        if len(packages) < 2 or None in packages:
            return "unknown"
        return "on_socket" if packages[0] == packages[1] else "off_socket"


def subject(text: str) -> KernelSubject | None:
    """``g0.n1``, ``g0.n1/wrong``; None for what is no subject of a kernel."""
    found = _SUBJECT.fullmatch(text)
    return None if found is None else KernelSubject(found["gpu"], int(found["numa"]), found["binding"] or "")


def of_paths(cells: Iterable[Cell]) -> list[str]:
    """A subject for each lone host-to-device cell, in their order."""
    flows = [cell.flows[0] for cell in cells if cell.lone and cell.flows[0].direction == "h2d"]
    return [str(KernelSubject(f"g{flow.gpus[0]}", flow.numa_node)) for flow in flows if flow.numa_node is not None]
