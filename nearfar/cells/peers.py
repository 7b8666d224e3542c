"""The cells of pairs of GPUs: every ordered pair written, read, both ways at once, and staged through host memory."""

from __future__ import annotations

from collections.abc import Iterable

from nearfar.topology import Gpu, Node, peer_class

from .many_gpus import has_many
from .matrices import Skip, hidden
from .notation import Cell, Endpoint, Flow

#: Up to this many GPUs every pair is measured; above, each GPU with one partner of each path class.
MAX_GPUS = 8
#: The same of copies with peer access off: through host memory a pair shows what the links of its GPUs to the host do.
MAX_STAGED = 4


def peer_matrix(node: Node) -> tuple[list[Cell], list[Skip]]:
    """Each ordered pair driven by its source (a write), by its destination (a read) and with peer access off; each
    pair once in both directions at once, written, and with peer access off.

    A pair with a hidden GPU is skipped as ``denied``. With more than ``MAX_GPUS`` GPUs each is measured with the next
    one of each path class, so that every GPU sends and receives; the other pairs are ``representative``. So are staged
    copies with more than ``MAX_STAGED`` GPUs. With many (``FEW_GPUS``) the first pair of each class stands for the others, staged
    and in both directions at once, which rounds of disjoint pairs have of all.
    """
    direct = both = representatives(node, MAX_GPUS)
    staged = representatives(node, MAX_STAGED)
    if has_many(node):
        both = staged = _first_of_class(node)
    cells: list[Cell] = []
    skips: list[Skip] = []
    for a, b in _pairs(node.gpus):
        pair = a.index, b.index
        unseen = next((gpu for gpu in (a, b) if not gpu.visible), None)
        for stands_for, of_pair in ((direct, _direct(*pair)), (both, _both(*pair)), (staged, _staged(*pair))):
            if unseen is not None:
                skips += [hidden(cell, unseen) for cell in of_pair]
            elif stands_for[pair] != pair:
                source, destination = stands_for[pair]
                reason = f"represented by g{source}:g{destination} (same path class)"
                skips += [Skip(cell, reason, "representative") for cell in of_pair]
            else:
                cells += of_pair
    return cells, skips


def _direct(a: int, b: int) -> list[Cell]:
    ways = _ways(a, b)
    writes = [Flow(*ends) for ends in ways]
    reads = [Flow(*ends, driver=ends[1]) for ends in ways]
    return [Cell((flow,)) for flow in (*writes, *reads)]


def _both(a: int, b: int) -> list[Cell]:
    return [Cell(tuple(Flow(*ends) for ends in _ways(a, b)))]


def _staged(a: int, b: int) -> list[Cell]:
    flows = [Flow(*ends, staged=True) for ends in _ways(a, b)]
    return [*(Cell((flow,)) for flow in flows), Cell(tuple(flows))]


def _ways(a: int, b: int) -> tuple[tuple[Endpoint, Endpoint], tuple[Endpoint, Endpoint]]:
    first, second = Endpoint("g", a), Endpoint("g", b)
    return (first, second), (second, first)


def _pairs(gpus: Iterable[Gpu]) -> list[tuple[Gpu, Gpu]]:
    ordered = sorted(gpus, key=lambda gpu: gpu.index)
    return [(a, b) for position, a in enumerate(ordered) for b in ordered[position + 1 :]]


def _first_of_class(node: Node) -> dict[tuple[int, int], tuple[int, int]]:
    """For each pair of GPUs the first visible one of its path class."""
    pairs = [(a.index, b.index) for a, b in _pairs(node.gpus)]
    seen = {gpu.index for gpu in node.gpus if gpu.visible}
    first: dict[str, tuple[int, int]] = {}
    for pair in pairs:
        if seen.issuperset(pair):
            first.setdefault(peer_class(node, *pair), pair)
    return {pair: first.get(peer_class(node, *pair), pair) for pair in pairs}


def representatives(node: Node, most: int) -> dict[tuple[int, int], tuple[int, int]]:
    """For each pair of GPUs the one that is measured in its place (itself, where there are few)."""
    pairs = [(a.index, b.index) for a, b in _pairs(node.gpus)]
    if len(node.gpus) <= most:
        return {pair: pair for pair in pairs}
    classes = {pair: peer_class(node, *pair) for pair in pairs}
    order = [gpu.index for gpu in sorted(node.gpus, key=lambda gpu: gpu.index) if gpu.visible]
    chosen: dict[tuple[int, int], str] = {}
    for position, gpu in enumerate(order):
        seen: set[str] = set()
        for other in order[position + 1 :] + order[:position]:
            pair = min(gpu, other), max(gpu, other)
            if classes[pair] not in seen:
                seen.add(classes[pair])
                chosen[pair] = classes[pair]
    first: dict[str, tuple[int, int]] = {}
    for pair in sorted(chosen):
        first.setdefault(chosen[pair], pair)
    return {pair: pair if pair in chosen else first.get(classes[pair], pair) for pair in pairs}
