"""Why the ranks are where they are: what is attached where, what had to give way, what is not proven."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from nearfar.topology import Node, format_cpu_list

from .idle_gpus import idle_sentences
from .layout import Layout
from .locality import cores_of, fabric_nics
from .placement import Placement


def explain(node: Node, layout: Layout, placements: Sequence[Placement]) -> list[str]:
    """Sentences, the most general first."""
    return [
        *_where_devices_are(node),
        *_left_out(node, layout),
        *_ratio(node, layout, placements),
        *_network(layout, placements),
        *_not_near(layout, placements),
        *_free(placements),
        *_unproven(node, placements),
        *_threads(placements),
    ]


def _where_devices_are(node: Node) -> list[str]:
    homes: dict[str, list[str]] = {}
    for device, numa, package in [
        *((f"g{g.index}", g.numa_node, g.package) for g in node.gpus),
        *((nic.name, nic.numa_node, nic.package) for nic in fabric_nics(node)),
    ]:
        place = f"n{numa}" if numa is not None else "no known NUMA node"
        if package is not None and len(node.packages) > 1:
            place += f" (package {package})"
        homes.setdefault(place, []).append(device)
    places = [
        f"{_and(devices)} {'are' if len(devices) > 1 else 'is'} attached to {place}" for place, devices in homes.items()
    ]
    return [f"{node.hostname}: {'; '.join(places)}."] if places else []


def _left_out(node: Node, layout: Layout) -> list[str]:
    sentences = []
    if node.allowed_cpus is not None:
        sentences.append(f"A cpuset allows only CPUs {format_cpu_list(node.allowed_cpus)}.")
    if node.gpus and layout.gpus is None and layout.numa_nodes is not None:
        sentences.append("No rank has a GPU of its own: --gpus names one for each rank, as --gpus 0,1,2.")
    hidden = [f"g{gpu.index}" for gpu in node.gpus if not gpu.visible]
    if hidden and layout.gpus is None and layout.numa_nodes is None:
        sentences.append(
            f"{_and(hidden)} {'are' if len(hidden) > 1 else 'is'} not visible to this process and "
            f"{'get' if len(hidden) > 1 else 'gets'} no rank; the other GPUs are named by their UUIDs, which are valid on this node only."
        )
    if layout.gpus is not None:
        sentences += idle_sentences(node, layout.gpus)
    mig = [f"g{gpu.index}" for gpu in node.gpus if gpu.mig]
    if mig:
        sentences.append(f"MIG is on at {_and(mig)}: CUDA sees its instances by UUID, not by these numbers.")
    return sentences


def _ratio(node: Node, layout: Layout, placements: Sequence[Placement]) -> list[str]:
    """How many ranks each NUMA node serves, and the cores that stay free for their sake."""
    sentences = []
    ranks = Counter(p.numa_node for p in placements if p.numa_node is not None)
    shared = [p.rank for p in placements if p.shared]
    if shared:
        sentences.append(
            f"Ranks {_and(shared)} share cores with others, because there are too few; all of them are slower."
        )
    if layout.threads_per_rank is None and len(set(ranks.values())) > 1:
        counts = [
            f"{len(cores_of(node, numa))} cores of n{numa} serve {count} rank{'s' if count > 1 else ''}"
            for numa, count in sorted(ranks.items())
        ]
        width = len(placements[0].cpus)
        sentences.append(f"{', '.join(counts)}: every rank gets {width}, so that all have as many.")
    taken = {cpu for p in placements if not p.free for cpu in p.cpus}
    free = {n.index: sum(core[0] not in taken for core in cores_of(node, n.index)) for n in node.numa_nodes if n.cpus}
    counts = [f"{count} on n{numa}" for numa, count in free.items() if count]
    if counts and layout.threads_per_rank is None:
        sentences.append(f"Cores without a rank: {_and(counts)}.")
    return sentences


def _not_near(layout: Layout, placements: Sequence[Placement]) -> list[str]:
    sentences = []
    far: dict[tuple[int | None, int | None, str | None], list[int]] = {}
    for p in placements:
        if p.path in ("on_socket", "off_socket") and p.mpi_cpus == p.gpu_cpus:
            far.setdefault((p.gpu, p.numa_node, p.path), []).append(p.rank)
        elif p.path == "spread":
            memories = _and(f"n{index}" for index in p.memory_nodes)
            sentences.append(
                f"Rank {p.rank} of g{p.gpu} is spread over {memories}: no NUMA node has enough cores left."
            )
    for (gpu, numa, path), ranks in far.items():
        who = f"{'ranks' if len(ranks) > 1 else 'rank'} {_and(ranks)}"
        if layout.near == "gpu" and layout.numa_nodes is None:
            sentences.append(f"Too few cores are left beside g{gpu} for {who}: n{numa} is {path} from it.")
        else:
            sentences.append(f"That is {path} from g{gpu} for {who}.")
    return sentences


def _free(placements: Sequence[Placement]) -> list[str]:
    free = [str(p.rank) for p in placements if p.free]
    if not free:
        return []
    whose = "Ranks" if len(free) > 1 else "Rank"
    return [
        f"{whose} {_and(free)}: free, on every core that is allowed, also those of other ranks; nothing binds its threads."
    ]


def _unproven(node: Node, placements: Sequence[Placement]) -> list[str]:
    unknown = list(dict.fromkeys(f"g{p.gpu}" for p in placements if p.path == "unknown"))
    if not unknown:
        return []
    where = "the cores of its package" if all(g.package is not None for g in node.gpus) else "all cores"
    return [
        f"UNPROVEN: the system does not report which NUMA node {_and(unknown)} is attached to, and nothing is guessed: its ranks "
        f"share {where} evenly. Measure it: nearfar-copy gives every pair of NUMA node and GPU."
    ]


def _network(layout: Layout, placements: Sequence[Placement]) -> list[str]:
    sentences = []
    if layout.near == "split":
        sentences.append(
            "Split: the first thread of each rank, MPI's, runs beside the NIC; the others, which drive the GPU, beside "
            "the GPU. MPI needs MPI_THREAD_MULTIPLE, or FUNNELED if no other thread calls it."
        )
    elif layout.near == "nic" and all(p.path in ("near", "sole") for p in placements):
        sentences.append("The ranks are beside their NICs, which are attached where their GPUs are.")
    elif layout.near == "nic":
        sentences.append(
            "The ranks are beside their NICs, not their GPUs: best for programs that wait for messages most of the time."
        )
    far = [f"g{p.gpu} ({p.nic})" for p in placements if p.nic_path in ("SYS_on", "SYS_off")]
    if far:
        sentences.append(f"No NIC is on the NUMA node of {_and(dict.fromkeys(far))}.")
    unknown = [f"{p.nic}" for p in placements if p.nic_path == "unknown"]
    if unknown:
        sentences.append(f"How near {_and(dict.fromkeys(unknown))} is to the GPUs is not known.")
    return sentences


def _threads(placements: Sequence[Placement]) -> list[str]:
    if not any(p.siblings for p in placements):
        return []
    first = next(p for p in placements if p.siblings)
    example = f"CPUs {format_cpu_list(first.siblings)} beside rank {first.rank}'s {format_cpu_list(first.cpus)}"
    return [f"One hardware thread of each core; the others stay idle ({example})."]


def _and(items: Iterable[object]) -> str:
    listed = [str(word) for word in items]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"
