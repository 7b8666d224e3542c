"""From a node and a layout to the place of each rank: pure, and the same answer for every form of launch line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nearfar.base import NearfarError, plural
from nearfar.topology import Gpu, Nic, Node, host_class, nic_class

from .core_pool import Core, CorePool, CoreRequest
from .layout import Layout
from .locality import cores_of, fabric_nics, gpu_home, memory_of, named_nic, nearest_nics, nic_home


@dataclass(frozen=True)
class Placement:
    """Where one rank runs.

    ``rank`` counts from 0 within the node. ``cpus`` are the operating system's numbers, one hardware thread for each
    core (the core's first that is allowed), sorted; ``siblings`` the other threads of those cores, which stay idle.
    ``mpi_cpus`` and ``gpu_cpus`` are where the MPI thread and the threads that drive the GPU belong: both all of
    ``cpus``, unless the layout splits them. ``numa_node`` is the one that holds the CPUs (of a split rank: the GPU
    threads'), ``None`` when they are of several; ``memory_nodes`` the host memories to bind to. ``path`` is the path
    class of ``numa_node``'s memory and the GPU, and ``nic_path`` that of GPU and NIC: ``unknown`` where the system does
    not say, and then nothing here is proven; ``path`` is ``spread`` where no NUMA node had cores enough. ``shared``
    tells that another rank has some of the same cores, ``nic_chosen`` that the layout named the NIC. A ``free`` rank is bound to
    nothing: it has every CPU and memory that is allowed, beside the other ranks, and ``threads`` of its own choice of cores.
    """

    rank: int
    gpu: int | None
    nic: str | None
    cpus: tuple[int, ...]
    siblings: tuple[int, ...]
    mpi_cpus: tuple[int, ...]
    gpu_cpus: tuple[int, ...]
    numa_node: int | None
    memory_nodes: tuple[int, ...]
    path: str | None = None
    nic_path: str | None = None
    shared: bool = False
    nic_chosen: bool = False
    free: bool = False
    threads: int | None = None


def place(node: Node, layout: Layout) -> list[Placement]:
    """The place of every rank of the layout on this node, by rank.

    Raises ``NearfarError`` for a layout that the node cannot have: a GPU, NIC or NUMA node that is not there or that the
    cpuset hides, fewer cores than are needed, no GPU and no NUMA nodes named.
    """
    layout.check()
    if layout.numa_nodes is not None and layout.gpus is None:
        ranks = [_Rank(i, None, _nic_named(node, layout)) for i in range(len(layout.numa_nodes))]
    else:
        ranks = _gpu_ranks(node, layout)
    free = {i for i, home in enumerate(layout.numa_nodes or ()) if home is None}
    if free and layout.threads_per_rank is None:
        layout = replace(layout, threads_per_rank=_threads_beside_free(node, layout))
    wishes = {rank.index: _wishes(node, layout, rank) for rank in ranks if rank.index not in free}
    pool = CorePool(node)
    given = pool.allot([wish for requests in wishes.values() for wish in requests], layout.oversubscribe)
    uses = Counter(core for cores in given.values() for core in cores)
    placements = [
        _free(node, rank, layout.threads_per_rank)
        if rank.index in free
        else _placed(node, rank, [given[wish] for wish in wishes[rank.index]], uses)
        for rank in ranks
    ]
    if layout.numa_nodes is not None:
        _refuse_elsewhere(layout.numa_nodes, placements)
    return [replace(placement, nic_chosen=layout.nic is not None) for placement in placements]


def _threads_beside_free(node: Node, layout: Layout) -> int:
    """Threads of each rank where some are free: as many as the narrowest home has for its ranks, and all ranks have in all."""
    homes = Counter(_host_node(node, home) for home in layout.numa_nodes or () if home is not None)
    cores = {n.index: len(cores_of(node, n.index)) for n in node.numa_nodes if n.cpus}
    shares = [cores[home] // count for home, count in homes.items()]
    return max(1, min([*shares, sum(cores.values()) // len(layout.numa_nodes or (None,))]))


def _refuse_elsewhere(wished: Sequence[int | None], placements: Sequence[Placement]) -> None:
    for home, placement in zip(wished, placements):
        if home is not None and placement.numa_node != home:
            threads = plural(len(placement.cpus), "thread")
            raise NearfarError(
                f"NUMA node {home} has fewer cores than the {wished.count(home)} ranks that belong on it need, {threads} each: "
                f"take fewer, or share cores with --oversubscribe"
            )


def _free(node: Node, rank: _Rank, threads: int | None) -> Placement:
    """Every CPU that is allowed, hardware threads of one core each."""
    allowed = node.allowed_cpus
    cpus = {cpu for numa in node.numa_nodes for cpu in numa.cpus if allowed is None or cpu in allowed}
    every = tuple(sorted(cpus))
    gpu, nic = rank.gpu, rank.nic
    return Placement(
        rank=rank.index, gpu=gpu.index if gpu else None, nic=nic.name if nic else None, cpus=every, siblings=(), mpi_cpus=every,
        gpu_cpus=every, numa_node=None, memory_nodes=tuple(sorted({memory_of(node, home) for home in _numa_nodes(node, every)})),
        nic_path=nic_class(node, gpu.index, nic.name) if gpu and nic else None, free=True, threads=threads,
    )  # fmt: skip


@dataclass(frozen=True)
class _Rank:
    index: int
    gpu: Gpu | None
    nic: Nic | None


def _nic_named(node: Node, layout: Layout) -> Nic | None:
    return None if layout.nic is None else named_nic(node, layout.nic)


def _gpu_ranks(node: Node, layout: Layout) -> list[_Rank]:
    ranks: list[_Rank] = []
    used: Counter[str] = Counter()
    for gpu in _gpus(node, layout):
        for _ in range(layout.ranks_per_gpu):
            nic = _nic_named(node, layout)
            if nic is None:
                # Of several that are equally near, the one that fewest ranks have.
                nic = min(nearest_nics(node, gpu), key=lambda n: used[n.name], default=None)
            if nic is not None:
                used[nic.name] += 1
            ranks.append(_Rank(len(ranks), gpu, nic))
    return ranks


def _gpus(node: Node, layout: Layout) -> list[Gpu]:
    if layout.gpus is None:
        gpus = [gpu for gpu in node.gpus if gpu.visible]
        if not gpus and node.gpus:
            raise NearfarError(f"none of the {len(node.gpus)} GPUs of {node.hostname} is visible to this process")
        if not gpus:
            why = f" ({node.gpus_unknown})" if node.gpus_unknown else ""
            raise NearfarError(f"{node.hostname} has no GPUs{why}: name the NUMA node of each rank, --numa-nodes 0,0")
        return gpus
    chosen = []
    for index in layout.gpus:
        gpu = node.gpu(index)
        if gpu is None:
            known = ", ".join(f"g{g.index}" for g in node.gpus) or "none"
            raise NearfarError(f"{node.hostname} has no GPU g{index}; it has: {known}")
        if not gpu.visible:
            raise NearfarError(f"g{index} of {node.hostname} is not visible to this process: {gpu.fault or 'hidden'}")
        chosen.append(gpu)
    return chosen


def _wishes(node: Node, layout: Layout, rank: _Rank) -> list[CoreRequest]:
    """One wish, or of a split rank two: the MPI thread's core first."""
    count = layout.threads_per_rank
    if layout.numa_nodes is not None:
        home = layout.numa_nodes[rank.index]
        assert home is not None
        return [CoreRequest(rank.index, (_host_node(node, home),), count, "where a rank is wished")]
    assert rank.gpu is not None
    beside_gpu = CoreRequest(rank.index, gpu_home(node, rank.gpu), count, f"which g{rank.gpu.index} is attached to")
    if layout.near == "gpu":
        return [beside_gpu]
    if rank.nic is None:
        why = "the system does not report which is near" if fabric_nics(node) else "it shows no NIC"
        raise NearfarError(
            f"{node.hostname}: g{rank.gpu.index} has no NIC to be near to, {why}: place ranks near the GPU"
        )
    what = f"which {rank.nic.name} is attached to"
    if layout.near == "nic":
        return [CoreRequest(rank.index, nic_home(node, rank.nic), count, what)]
    rest = None if count is None else count - 1
    return [
        CoreRequest(rank.index, nic_home(node, rank.nic), 1, what),
        CoreRequest(rank.index, beside_gpu.homes, rest, beside_gpu.what),
    ]


def _host_node(node: Node, index: int) -> int:
    numa = node.numa_node(index)
    if numa is None or numa.kind != "host" or not numa.cpus:
        known = ", ".join(f"n{n.index}" for n in node.numa_nodes if n.cpus)
        what = "has no CPUs" if numa is not None else "is not there"
        raise NearfarError(f"{node.hostname}: n{index} {what}, so no rank can run on it; these have CPUs: {known}")
    return index


def _placed(node: Node, rank: _Rank, given: list[list[Core]], uses: Counter[Core]) -> Placement:
    cores = [core for part in given for core in part]
    cpus = _first(cores)
    parts = [_first(part) for part in given]
    homes = _numa_nodes(node, parts[-1])
    numa = homes[0] if len(homes) == 1 else None
    memory = sorted({memory_of(node, home) for home in _numa_nodes(node, cpus)})
    gpu, nic = rank.gpu, rank.nic
    return Placement(
        rank=rank.index,
        gpu=gpu.index if gpu else None,
        nic=nic.name if nic else None,
        cpus=cpus,
        siblings=tuple(sorted({cpu for core in cores for cpu in core} - set(cpus))),
        mpi_cpus=parts[0],
        gpu_cpus=parts[-1],
        numa_node=numa,
        memory_nodes=tuple(memory),
        path=_path(node, numa, gpu) if gpu else None,
        nic_path=nic_class(node, gpu.index, nic.name) if gpu and nic else None,
        shared=any(uses[core] > 1 for core in cores),
    )


def _first(cores: list[Core]) -> tuple[int, ...]:
    return tuple(sorted({core[0] for core in cores}))


def _numa_nodes(node: Node, cpus: tuple[int, ...]) -> list[int]:
    return [numa.index for numa in node.numa_nodes if set(cpus).intersection(numa.cpus)]


def _path(node: Node, numa: int | None, gpu: Gpu) -> str:
    if numa is None:
        return "unknown" if len(gpu_home(node, gpu)) > 1 else "spread"
    return host_class(node, memory_of(node, numa), gpu.index)
