"""The cells of many GPUs at once: saturation ramps, and tasks that share GPUs; and which of them a cell is.

``spread``: GPUs of each package in turn, each with its nearest memory (Summit's table of simultaneous transfers).
``packed``: GPUs of one package. ``across``: every byte crosses the package link.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.topology import Gpu, Node, NumaNode

from .classes import flow_class
from .many_gpus import are_many, first_of_each_package, has_many
from .matrices import Skip, driver_of, hidden, memory_allowed
from .notation import Cell, Endpoint, Flow

#: Tasks on each GPU of the sharing ramp.
MOST_TASKS = 4
#: The directions of a load: from the host, to it, both at once.
WAYS = ("h2d", "d2h", "both")


@dataclass(frozen=True)
class Load:
    """What a cell asks of the links between host memory and several GPUs (or one) at once.

    ``package`` is that of a ``packed`` ramp. ``tasks`` share each GPU.
    """

    ramp: str
    ways: str
    gpus: tuple[int, ...]
    tasks: int = 1
    package: int | None = None


def saturation_ramps(node: Node) -> tuple[list[Cell], list[Skip]]:
    """1, 2, … all GPUs at once, spread, packed and across, each H2D, D2H and both; the first package's ramp stands for
    those of the others, of which only the last step is there. With many GPUs (``FEW_GPUS``) a ramp has powers of two and all,
    of each package there is only the last step, and across the link all at once. A hidden GPU is skipped as ``denied``."""
    steps = [members for ramp in _ramps(node) for members in ramp]
    cells = [_cell(node, members, ways) for ways in WAYS for members in steps]
    return list(dict.fromkeys(cells)), _hidden(node)


def whole_loads(node: Node) -> set[Cell]:
    """The last step of each ramp: the cells in which each GPU's own share is worth a figure."""
    return {_cell(node, ramp[-1], ways) for ramp in _ramps(node) for ways in WAYS}


def sharing_ramps(node: Node) -> tuple[list[Cell], list[Skip]]:
    """One to ``MOST_TASKS`` tasks on each GPU, all GPUs at once with their nearest memory; H2D, then D2H. With many GPUs
    (``FEW_GPUS``) one, two and four on the first one of each package."""
    first = first_of_each_package(node).values()
    sharing = [gpu for gpu in _spread(node) if gpu.index in first] if has_many(node) else _spread(node)
    everyone = _near(node, sharing)
    if not everyone:
        return [], _hidden(node)
    counts = [tasks for tasks in range(1, MOST_TASKS + 1) if tasks != 3 or not has_many(node)]
    return [_cell(node, everyone, ways, tasks) for ways in WAYS[:2] for tasks in counts], _hidden(node)


def load_of(node: Node, cell: Cell) -> Load | None:
    """Which load a cell is; None for anything but copy-engine flows between pinned host memory and GPUs, in one
    direction or with the opposite of each. One GPU alone is the first step of the ``spread`` ramp (or of ``across``)."""
    flows = cell.flows
    plain = all(flow.kind == "host" and not (flow.sm or flow.pageable or flow.huge) for flow in flows)
    if not plain or len({(flow.tasks, flow.threads) for flow in flows}) != 1:
        return None
    down, up = ({(f.gpus[0], f.numa_node) for f in flows if f.direction == direction} for direction in ("h2d", "d2h"))
    gpus = tuple(dict.fromkeys(flow.gpus[0] for flow in flows))
    if (down and up and down != up) or len(down or up) != len(gpus):
        return None
    ways = "both" if down and up else "h2d" if down else "d2h"
    packages = {gpu.package if (gpu := node.gpu(index)) else None for index in gpus}
    everywhere = {gpu.package for gpu in node.gpus}
    package = None
    if all(flow_class(node, flow) == "off_socket" for flow in flows):
        ramp = "across"
    elif len(gpus) > 1 and len(packages) == 1 and len(everywhere) > 1:
        ramp, package = "packed", packages.pop()
    else:
        ramp = "spread"
    return Load(ramp, ways, gpus, flows[0].tasks, package)


_Members = tuple[tuple[int, int], ...]  # (GPU, NUMA node) of each


def _ramps(node: Node) -> list[list[_Members]]:
    """The steps of each ramp, none of them empty."""
    packages = _packages(node)
    near = _near(node, _spread(node))
    ramps = [[near[:count] for count in _counts(len(near))]]
    if len(packages) > 1 and None not in packages:
        for position, gpus in enumerate(packages.values()):
            members = _near(node, gpus)
            counts = [count for count in _counts(len(members)) if count > 1]
            ramps.append(
                [members[:count] for count in (counts if position == 0 and not has_many(node) else counts[-1:])]
            )
    return [ramp for ramp in [*ramps, *_across(node, packages)] if ramp]


def _across(node: Node, packages: dict[int | None, list[Gpu]]) -> list[list[_Members]]:
    """Each package's GPUs with the next package's memory, then all of them at once."""
    memories: dict[int, list[NumaNode]] = {}
    for memory in node.host_numa_nodes:
        if memory.package is not None and memory_allowed(node, memory):
            memories.setdefault(memory.package, []).append(memory)
    if None in packages or len(memories) < 2:
        return []
    order = sorted(memories)
    far: list[_Members] = []
    for package, gpus in packages.items():
        assert package is not None
        other = next((p for p in order if p > package), next(p for p in order if p != package))
        there = memories[other]
        far.append(tuple((gpu.index, there[i % len(there)].index) for i, gpu in enumerate(gpus)))
    everyone = tuple(member for members in far for member in members)
    return [[everyone]] if has_many(node) else [[members] for members in (*far, everyone)]


def _packages(node: Node) -> dict[int | None, list[Gpu]]:
    """The visible GPUs of each package, by number; None: where the system does not say."""
    by_package: dict[int | None, list[Gpu]] = {}
    for gpu in sorted(node.gpus, key=lambda gpu: (gpu.package is None, gpu.package or 0, gpu.index)):
        if gpu.visible:
            by_package.setdefault(gpu.package, []).append(gpu)
    return by_package


def _spread(node: Node) -> list[Gpu]:
    """The visible GPUs, a package's turn after the other's."""
    packages = list(_packages(node).values())
    turns = max(map(len, packages), default=0)
    return [gpus[turn] for turn in range(turns) for gpus in packages if turn < len(gpus)]


def _near(node: Node, gpus: Sequence[Gpu]) -> _Members:
    """Each GPU with its nearest allowed memory; where the system does not say which, the memories in turn."""
    memories = [memory for memory in node.host_numa_nodes if memory_allowed(node, memory)]
    if not memories:
        return ()

    def nearest(gpu: Gpu) -> int:
        if gpu.numa_node is None and gpu.package is None:
            return memories[gpu.index % len(memories)].index

        def farness(memory: NumaNode) -> tuple[bool, bool, float, int]:
            distance = (
                math.inf if gpu.numa_node is None else node.distances.get((gpu.numa_node, memory.index), math.inf)
            )
            return memory.index != gpu.numa_node, memory.package != gpu.package, distance, memory.index

        return min(memories, key=farness).index

    return tuple((gpu.index, nearest(gpu)) for gpu in gpus)


def _counts(most: int) -> list[int]:
    if not are_many(most):
        return list(range(1, most + 1))
    return [2**power for power in range(most.bit_length()) if 2**power < most] + [most]


def _cell(node: Node, members: _Members, ways: str, tasks: int = 1) -> Cell:
    flows = []
    for gpu, numa in members:
        memory = node.numa_node(numa)
        assert memory is not None, "members come from the node"
        ends, driver = (Endpoint("n", numa), Endpoint("g", gpu)), driver_of(node, memory)
        flows += [Flow(*ends, driver=driver, tasks=tasks)] if ways != "d2h" else []
        flows += [Flow(*ends[::-1], driver=driver, tasks=tasks)] if ways != "h2d" else []
    return Cell(tuple(flows))


def _hidden(node: Node) -> list[Skip]:
    first = next(iter(node.host_numa_nodes), None)
    if first is None:
        return []
    return [
        hidden(Cell((Flow(Endpoint("n", first.index), Endpoint("g", gpu.index)),)), gpu)
        for gpu in node.gpus
        if not gpu.visible
    ]
