"""Nodes with many GPUs: the bandwidth of every path is measured one way, everything else of representatives."""

from __future__ import annotations

from collections.abc import Iterable

from nearfar.topology import Node, host_class

from .notation import Cell

#: Up to this many GPUs everything is measured of each; published tables of simultaneous transfers have six.
FEW_GPUS = 6
#: The classes of a GPU's own memory; ``unknown`` may be.
_OWN = ("near", "sole", "unknown")


def are_many(gpus: int) -> bool:
    """Whether so many GPUs are more than few."""
    return gpus > FEW_GPUS


def has_many(node: Node) -> bool:
    """Whether representatives stand for other GPUs."""
    return are_many(len(node.gpus))


def first_of_each_package(node: Node) -> dict[int | None, int]:
    """The first visible GPU of each package."""
    first: dict[int | None, int] = {}
    for gpu in sorted(node.gpus, key=lambda gpu: gpu.index):
        if gpu.visible:
            first.setdefault(gpu.package, gpu.index)
    return first


def represented(node: Node, cells: Iterable[Cell]) -> dict[Cell, int]:
    """Of cells between one GPU and host memory those that the first GPU of its package stands for, with that GPU: where
    there are many, all but those with the GPU's own memory."""
    if not has_many(node):
        return {}
    first = first_of_each_package(node)
    representatives = {}
    for cell in cells:
        flow = cell.flows[0]
        (index,) = flow.gpus
        gpu = node.gpu(index)
        if gpu is None or flow.numa_node is None or host_class(node, flow.numa_node, index) in _OWN:
            continue
        if first[gpu.package] != index:
            representatives[cell] = first[gpu.package]
    return representatives
