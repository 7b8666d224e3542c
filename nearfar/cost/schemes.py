"""Binding schemes on a node: where each rank of a program goes under ``right``, ``wrong``, ``0-1-1`` and the others; ``nearfar.binding``
places them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nearfar.base import NearfarError
from nearfar.binding import Layout, Placement, cores_of, cpu_nodes, gpu_home, memory_of, nearest, place, scheme_names
from nearfar.mpi import RankPlan
from nearfar.topology import Gpu, Node


@dataclass(frozen=True)
class Scheme:
    """A scheme on this node. ``places`` by rank, None where the launcher alone decides; ``left_out`` is why it does not apply."""

    name: str
    ranks: int
    places: tuple[RankPlan, ...] | None = None
    left_out: str = ""

    @property
    def words(self) -> str:
        """What it is."""
        return scheme_names.SCHEMES.get(self.name) or f"NUMA nodes of the ranks: {', '.join(self.name.split('-'))}"


@dataclass(frozen=True)
class Job:
    """What is started under every scheme.

    ``threads`` counts cores of a rank (None: as many as all can have near). ``gpus`` are those that get ranks (None: all that are
    visible; empty: a program of the host alone). ``all_gpus``: every rank sees all GPUs, and takes one by its rank itself.
    ``launched``: a launcher starts the ranks, so that a scheme may have another number of them.
    """

    ranks: int = 1
    threads: int | None = None
    gpus: tuple[int, ...] | None = None
    all_gpus: bool = False
    oversubscribe: bool = False
    launched: bool = True


def schemes_on(node: Node, names: Sequence[str], job: Job) -> list[Scheme]:
    """The schemes on this node, in the order of the names. One that the node cannot have is left out with the reason; ``right`` that
    it cannot have raises ``NearfarError``, as the ranks do not fit at all."""
    right = _right(node, job)

    def scheme(name: str) -> Scheme:
        if name == "default":
            return Scheme(name, job.ranks)
        try:
            places = right.places if name == "right" else _layout(node, name, job, right).places
        except NearfarError as error:
            return Scheme(name, job.ranks, None, str(error))
        return Scheme(name, len(places), places)

    return [scheme(name) for name in names]


@dataclass(frozen=True)
class PlacedRanks:
    """Places by rank. ``homes``: the NUMA node that each belongs to; ``devices``: the GPUs of each."""

    places: tuple[RankPlan, ...]
    homes: tuple[int, ...]
    devices: tuple[tuple[Gpu, ...], ...]


def _layout(node: Node, name: str, job: Job, right: PlacedRanks) -> PlacedRanks:
    """The places of a scheme, which start from those under ``right``. Raises ``NearfarError`` where the node cannot have it."""
    wished = scheme_names.numa_nodes(name)
    if wished is not None:
        return _listed(node, job, right, wished)
    if name == "interleaved":
        memory = tuple(numa.index for numa in node.host_numa_nodes)
        return replace(right, places=tuple(_remembering(node, place, "interleave", memory) for place in right.places))
    if name == "wrong":
        name = "far-far" if any(right.devices) else "near-far"
    if name in ("near-near", "near-far", "far-near", "far-far"):
        return _sides(node, job, right, name.startswith("far"), name.endswith("far"))
    if name == "shuffled":
        return _shuffled(node, job, right)
    return _task_per_core(node, job) if name == "task-per-core" else _task_per_two_gpus(node, job)


def _visible(node: Node, job: Job) -> list[Gpu]:
    """The GPUs that get ranks. Raises ``NearfarError`` for one that is not there or that is hidden."""
    if job.gpus is None:
        return [gpu for gpu in node.gpus if gpu.visible]
    gpus = []
    for index in job.gpus:
        gpu = node.gpu(index)
        if gpu is None or not gpu.visible:
            known = ", ".join(f"g{gpu.index}" for gpu in node.gpus if gpu.visible) or "none"
            raise NearfarError(f"{node.hostname} has no GPU g{index} that this process may use; it has: {known}")
        gpus.append(gpu)
    return gpus


def bind_words(node: Node, job: Job) -> tuple[str, ...]:
    """The options with which ``nearfar bind`` gives what ``right`` is; none where it cannot be had."""
    try:
        right = _right(node, job)
    except NearfarError:
        return ()
    width = ("--threads-per-rank", str(_width(right)), *(("--oversubscribe",) if job.oversubscribe else ()))
    if not any(right.devices):
        return "--numa-nodes", ",".join(map(str, right.homes)), *width
    gpus = list(dict.fromkeys(gpu.index for devices in right.devices for gpu in devices))
    named = () if gpus == [gpu.index for gpu in node.gpus] else ("--gpus", ",".join(map(str, gpus)))
    return *named, "--ranks-per-gpu", str(job.ranks // len(gpus)), *width


def _right(node: Node, job: Job) -> PlacedRanks:
    gpus = _visible(node, job)
    if not gpus:
        homes = _spread(node, job.ranks)
        return _placed(node, job, homes, [()] * job.ranks, job.threads)
    if job.ranks > len(gpus) and job.ranks % len(gpus):
        raise NearfarError(
            f"{job.ranks} ranks on {len(gpus)} GPUs: as many on each are needed: name the GPUs with --gpus, or "
            f"--no-gpus for a program of the host"
        )
    per_gpu = max(1, job.ranks // len(gpus))
    taken = tuple(gpu.index for gpu in gpus[: job.ranks])
    layout = Layout(ranks_per_gpu=per_gpu, threads_per_rank=job.threads, gpus=taken, oversubscribe=job.oversubscribe)
    placements = place(node, layout)
    devices = [(gpu,) for gpu in gpus[: job.ranks] for _ in range(per_gpu)]
    homes = [
        gpu_home(node, gpu)[0] if placement.numa_node is None else placement.numa_node
        for placement, (gpu,) in zip(placements, devices)
    ]
    return _of(node, job, placements, homes, devices)


def _spread(node: Node, ranks: int) -> list[int]:
    """The NUMA node of each rank of a program of the host: as many on each, in order, of those whose CPUs may be used."""
    usable = [numa.index for numa in node.numa_nodes if numa.kind == "host" and cores_of(node, numa.index)]
    if not usable:
        raise NearfarError(f"{node.hostname} shows no CPU of a NUMA node that this process may use")
    # Fewer ranks than NUMA nodes: the first ones.
    return [usable[rank * len(usable) // max(ranks, len(usable))] for rank in range(ranks)]


def _placed(
    node: Node, job: Job, homes: Sequence[int], devices: Sequence[tuple[Gpu, ...]], threads: int | None
) -> PlacedRanks:
    layout = Layout(numa_nodes=tuple(homes), threads_per_rank=threads, oversubscribe=job.oversubscribe)
    return _of(node, job, place(node, layout), homes, devices)


def _of(
    node: Node,
    job: Job,
    placements: Sequence[Placement],
    homes: Sequence[int],
    devices: Sequence[tuple[Gpu, ...]],
) -> PlacedRanks:
    places = (
        _remembering(node, RankPlan(each.cpus, gpus=_seen(node, job, gpus)), "bind", each.memory_nodes)
        for each, gpus in zip(placements, devices)
    )
    return PlacedRanks(tuple(places), tuple(homes), tuple(devices))


def _remembering(node: Node, place: RankPlan, policy: str, memory: tuple[int, ...]) -> RankPlan:
    """The place with a memory policy; with none where there is one host memory: any is the same, and containers refuse all."""
    if len(node.host_numa_nodes) < 2:
        return replace(place, policy=None, memory=())
    return replace(place, policy=policy, memory=tuple(sorted(memory)))


def _seen(node: Node, job: Job, gpus: Sequence[Gpu]) -> str | None:
    """CUDA_VISIBLE_DEVICES of a rank: its own GPUs. One rank that is not told which sees what it always sees."""
    if not gpus or job.all_gpus or (job.ranks == 1 and job.gpus is None):
        return None
    by_uuid = any(not gpu.visible for gpu in node.gpus) and all(gpu.uuid for gpu in gpus)
    return ",".join(str(gpu.uuid if by_uuid else gpu.index) for gpu in gpus)


def _width(right: PlacedRanks) -> int:
    """Cores of a rank: the same under every scheme."""
    return max(len(place.cpus or ()) for place in right.places)


def _listed(node: Node, job: Job, right: PlacedRanks, wished: Sequence[int | None]) -> PlacedRanks:
    bound = [numa for numa in wished if numa is not None]
    given = iter(_placed(node, job, bound, [()] * len(bound), _width(right)).places if bound else ())
    places = (
        replace(RankPlan() if numa is None else next(given), gpus=near.gpus) for numa, near in zip(wished, right.places)
    )
    return replace(right, places=tuple(places))


def _sides(node: Node, job: Job, right: PlacedRanks, far_cores: bool, far_memory: bool) -> PlacedRanks:
    """Cores near or far, memory near or far, by the home of each rank. With one NUMA node near and far are the same."""
    cores = [_farthest(node, home, memory=False) if far_cores else home for home in right.homes]
    kept = _placed(node, job, cores, right.devices, _width(right)).places if far_cores else right.places
    places = []
    for home, own, near in zip(right.homes, kept, right.places):
        memory = _farthest(node, memory_of(node, home), memory=True) if far_memory else memory_of(node, home)
        places.append(_remembering(node, replace(own, gpus=near.gpus), "bind", (memory,)))
    return replace(right, places=tuple(places))


def _farthest(node: Node, home: int, memory: bool) -> int:
    """The NUMA node farthest from ``home`` that has memory, or cores to use; of a node with one of them that."""
    candidates = node.host_numa_nodes if memory else [n for n in node.numa_nodes if cores_of(node, n.index)]
    order = nearest(node, home, candidates)
    if order and order[-1].index != home:
        return order[-1].index
    return home if memory else cpu_nodes(node, home)[0]


def _shuffled(node: Node, job: Job, right: PlacedRanks) -> PlacedRanks:
    gpus = list(dict.fromkeys(gpu for own in right.devices for gpu in own))
    if job.all_gpus or len(gpus) < 2:
        gpus = _visible(node, job)
    if len(gpus) < 2:
        raise NearfarError("fewer than two GPUs: there is no order to shuffle")
    turned = dict(zip(gpus, reversed(gpus)))
    if job.all_gpus or job.ranks == 1:
        order = ",".join(str(gpu.index) for gpu in reversed(gpus))
        return replace(right, places=tuple(replace(place, gpus=order) for place in right.places))
    devices = tuple(tuple(turned[gpu] for gpu in own) for own in right.devices)
    places = [replace(place, gpus=_seen(node, job, own)) for place, own in zip(right.places, devices)]
    return replace(right, places=tuple(places), devices=devices)


def _task_per_core(node: Node, job: Job) -> PlacedRanks:
    if not job.launched:
        raise NearfarError("it needs a launcher: name one with --launcher")
    homes = [numa.index for numa in node.numa_nodes for _ in cores_of(node, numa.index)]
    devices: list[tuple[Gpu, ...]] = [()] * len(homes)
    gpus = _visible(node, job)
    for rank, home in enumerate(homes if gpus else ()):
        beside = [gpu for gpu in gpus if home in gpu_home(node, gpu)] or gpus
        devices[rank] = (beside[homes[:rank].count(home) % len(beside)],)
    return _placed(node, replace(job, ranks=len(homes)), homes, devices, 1)


def _task_per_two_gpus(node: Node, job: Job) -> PlacedRanks:
    gpus = _visible(node, job)
    if len(gpus) < 2:
        raise NearfarError("fewer than two GPUs")
    pairs = [tuple(gpus[i : i + 2]) for i in range(0, len(gpus), 2)]
    if len(pairs) > 1 and not job.launched:
        raise NearfarError("it needs a launcher: name one with --launcher")
    homes = [gpu_home(node, pair[0])[0] for pair in pairs]
    own = replace(job, ranks=len(pairs), gpus=tuple(gpu.index for gpu in gpus))
    return _placed(node, own, homes, pairs, job.threads)
