"""Binding schemes by name: ``right``, ``wrong``, ``0-1-1`` and the others."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.base import NearfarError, did_you_mean

from .schemes import scheme_nodes

#: What every scheme is, in words; those of a list of NUMA nodes (``0-1-free``) are named as they are written.
SCHEMES = {
    "default": "what the launcher does",
    "right": "cores and memory beside the rank's GPU, or of its own NUMA node, as nearfar bind",
    "wrong": "every rank on the NUMA node farthest from its GPU; without GPUs its memory on the farthest from its cores",
    "interleaved": "cores as right, memory interleaved over all NUMA nodes",
    "near-near": "cores near, memory near",
    "near-far": "cores near, memory far",
    "far-near": "cores far, memory near",
    "far-far": "cores far, memory far",
    "shuffled": "ranks as right, the order of their GPUs reversed",
    "task-per-core": "a rank on every core, GPUs shared",
    "task-per-two-gpus": "one rank for two GPUs",
}
#: Several schemes by one word.
GROUPS = {"2x2": ("near-near", "near-far", "far-near", "far-far")}
STANDARD = ("default", "right", "wrong")


def named(text: str) -> tuple[str, ...]:
    """The schemes that a comma-separated list asks for, each once. Raises ``NearfarError`` for one that is not known."""
    names: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        for name in GROUPS.get(word, (word,)):
            if name not in SCHEMES and scheme_nodes(name) is None:
                known = [*SCHEMES, *GROUPS]
                raise NearfarError(
                    f"no such scheme: '{name}'{did_you_mean(name, known)}; it is one of {', '.join(known)}, or the NUMA node of "
                    f"each rank, such as 0-1-free"
                )
            names.append(name)
    return tuple(dict.fromkeys(names))


def numa_nodes(name: str) -> tuple[int | None, ...] | None:
    """The NUMA node of each rank of a list (None: free); None for a scheme that is no list."""
    return None if name in SCHEMES else scheme_nodes(name)


def ranks_of(names: Sequence[str], ranks: int | None) -> int:
    """How many ranks there are: as asked, else as many as the lists have, else one. Raises ``NearfarError`` for lists of another
    length."""
    for name in names:
        wished = numa_nodes(name)
        if wished is None:
            continue
        if ranks is not None and len(wished) != ranks:
            raise NearfarError(
                f"scheme {name} places {len(wished)} ranks, and there are {ranks}: give a NUMA node for each rank"
            )
        ranks = len(wished)
    return 1 if ranks is None else ranks
