"""The cells whose figures tell a node's parts apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nearfar.cells import Cell, Endpoint, Flow, host_device_matrix, stream_matrix
from nearfar.model.prediction import switches
from nearfar.topology import Node, behind_nvswitch, peer_class

#: The three directions of a set of (NUMA node, GPU) pairs.
_WAYS = (("h2d",), ("d2h",), ("h2d", "d2h"))


def telling_cells(node: Node) -> list[Cell]:
    """The host-device matrix; STREAM; GPU pairs on NVLink; and for each capacity that flows share a cell that asks most
    of it: all GPUs of a package with near memory, all GPUs of the node, all across a package link, all behind a bridge,
    one GPU to all others and all to one; each in all directions.
    """
    cells = [*host_device_matrix(node)[0], *stream_matrix(node)]
    groups: list[list[tuple[int, int]]] = []
    near = {gpu.index: _near(node, gpu.index) for gpu in node.gpus}
    for memory in node.host_numa_nodes:
        groups.append([(memory.index, gpu) for gpu, own in near.items() if own == memory.index])
        # More than the near GPUs alone may be needed to fill a memory.
        for package in {g.package for g in node.gpus}:
            groups.append([(memory.index, g.index) for g in node.gpus if g.package == package])
    groups.append([(own, gpu) for gpu, own in near.items()])
    for behind in switches(node).values():
        groups.append([(near[gpu], gpu) for gpu in behind])
    for pairs in groups:
        if len(pairs) > 1:
            cells += [Cell(tuple(_flows(pairs, ways))) for ways in _WAYS]
    cells += _peers(node)
    return list(dict.fromkeys(cells))


def _near(node: Node, index: int) -> int:
    """The host memory that a GPU is used with: its own NUMA node's, else of its package, else by turns."""
    gpu, memories = node.gpu(index), node.host_numa_nodes
    assert gpu is not None, "an index of the node's own GPUs"
    own = [m.index for m in memories if m.index == gpu.numa_node]
    package = [m.index for m in memories if m.package == gpu.package and gpu.package is not None]
    return (own or package or [memories[index % len(memories)].index])[0]


def _flows(pairs: Iterable[tuple[int, int]], ways: Iterable[str]) -> Iterator[Flow]:
    for memory, gpu in pairs:
        ends = Endpoint("n", memory), Endpoint("g", gpu)
        for way in ways:
            yield Flow(*ends) if way == "h2d" else Flow(*ends[::-1])


def _peers(node: Node) -> list[Cell]:
    gpus = [gpu.index for gpu in node.gpus]
    switched = set(behind_nvswitch(node))

    def flow(a: int, b: int) -> Flow:
        return Flow(Endpoint("g", a), Endpoint("g", b))

    cells = []
    for a in gpus:
        for b in gpus:
            linked = {a, b} <= switched or (a != b and peer_class(node, a, b).startswith("NV"))
            if a != b and linked:
                cells.append(Cell((flow(a, b),)))
                if a < b:
                    cells.append(Cell((flow(a, b), flow(b, a))))
        others = [b for b in gpus if b != a and {a, b} <= switched]
        if len(others) > 1:
            # Each flow has an engine of its own: the destinations read, the sources write.
            cells.append(Cell(tuple(replace(flow(a, b), driver=Endpoint("g", b)) for b in others)))
            cells.append(Cell(tuple(flow(b, a) for b in others)))
    return cells
