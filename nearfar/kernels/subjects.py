"""What a kernel's result is about: ``g0.n1``, GPU 0 computes, operands come from and results return to NUMA node 1; ``n1``, its cores
compute in its memory."""

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
_SUBJECT = re.compile(rf"(?:g(?P<gpu>\d+)\.)?n(?P<numa>\d+)(?:/(?P<binding>{'|'.join(BINDINGS)}))?")


@dataclass(frozen=True)
class KernelSubject:
    """``gpu`` None: the cores of the NUMA node compute. ``binding``: of a rank under MPI; empty without."""

    gpu: int | None
    numa: int
    binding: str = ""

    def __str__(self) -> str:
        """``g0.n1``, ``g0.n1/right``, ``n1``."""
        device = "" if self.gpu is None else f"g{self.gpu}."
        return f"{device}n{self.numa}{f'/{self.binding}' if self.binding else ''}"

    @property
    def word(self) -> str:
        """As names have it: ``g0_n1``, ``g0_n1_right``."""
        return str(self).replace(".", "_").replace("/", "_")

    @property
    def words(self) -> str:
        """``GPU 0, operands in NUMA node 1``."""
        bound = f", ranks bound {self.binding}" if self.binding else ""
        if self.gpu is None:
            return f"cores and memory of NUMA node {self.numa}{bound}"
        return f"GPU {self.gpu}, operands in NUMA node {self.numa}{bound}"

    def path_class(self, node: Node) -> str:
        """The class of the path between the GPU and the memory, by ``node``: ``unknown`` where it lacks one of them, ``local`` where cores
        compute."""
        if self.gpu is None:
            return "local"
        known = node.gpu(self.gpu) is not None and self.numa in [numa.index for numa in node.host_numa_nodes]
        return host_class(node, self.numa, self.gpu) if known else "unknown"


def subject(text: str) -> KernelSubject | None:
    """``g0.n1``, ``g0.n1/wrong``; None for what is no subject of a kernel."""
    match = _SUBJECT.fullmatch(text)
    return (
        None
        if match is None
        else KernelSubject(
            None if match["gpu"] is None else int(match["gpu"]), int(match["numa"]), match["binding"] or ""
        )
    )


def of_paths(cells: Iterable[Cell]) -> list[str]:
    """A subject for each lone host-to-device cell, in their order."""
    flows = [cell.flows[0] for cell in cells if cell.lone and cell.flows[0].direction == "h2d"]
    return [str(KernelSubject(flow.gpus[0], flow.numa_node)) for flow in flows if flow.numa_node is not None]
