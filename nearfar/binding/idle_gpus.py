"""Fewer ranks than GPUs: which GPUs are left without one, and which choice spreads the ranks over the node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from nearfar.base import plural
from nearfar.topology import Gpu, Node


def spread_gpus(node: Node, count: int) -> tuple[int, ...]:
    """``count`` visible GPUs that share as little as possible: taken in turn from the packages, of a package in turn from its NUMA
    nodes, of these in turn from the bridges that lead to their GPUs; sorted."""
    left = [gpu for gpu in node.gpus if gpu.visible]
    chosen: list[Gpu] = []
    while left and len(chosen) < count:
        taken = [Counter(places) for places in zip(*map(_places, chosen))]
        best = min(
            left,
            key=lambda gpu: ([used[place] for used, place in zip(taken, _places(gpu))], gpu.index),
        )
        chosen.append(best)
        left.remove(best)
    return tuple(sorted(gpu.index for gpu in chosen))


def idle_sentences(node: Node, gpus: Sequence[int]) -> list[str]:
    """What to say where ``gpus`` have ranks and others of the node, which are visible too, have none."""
    idle = [gpu.index for gpu in node.gpus if gpu.visible and gpu.index not in gpus]
    if not idle:
        return []
    sentences = [f"{', '.join(f'g{index}' for index in idle)}: no rank."]
    better = spread_gpus(node, len(gpus))
    if _crowding(node, better) < _crowding(node, gpus):
        listed = ",".join(map(str, better))
        sentences.append(
            f"--gpus {listed} spreads {plural(len(gpus), 'GPU')} over the packages, then over NUMA nodes and PCIe bridges."
        )
    return [" ".join(sentences)]


def _places(gpu: Gpu) -> tuple[Hashable, ...]:
    """The package, the NUMA node, and the bridges from the root to the GPU; a GPU of unknown place is with its like."""
    bridges = tuple(reversed(gpu.uplinks))
    return (gpu.package, gpu.numa_node, *(bridges + (None,) * _DEEPEST)[:_DEEPEST])


#: Levels of bridges that are told apart.
_DEEPEST = 4


def _crowding(node: Node, gpus: Sequence[int]) -> list[list[int]]:
    """For each level of places how many of the GPUs are together, most first: less is better spread."""
    places = zip(*(_places(gpu) for gpu in node.gpus if gpu.index in gpus))
    return [sorted(Counter(level).values(), reverse=True) for level in places]
