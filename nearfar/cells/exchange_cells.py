"""The cells of several GPUs that exchange data at once: one to all, all to one, disjoint pairs, one half with the other.

Of several streams of one process that keep one copy engine busy one gets everything and the others nothing. So every
flow here has an engine of its own: one to all are reads, each driven by its destination; all to one are writes, each
driven by its source; of a pair each GPU writes to the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearfar.topology import Gpu, Node, peer_class

from .many_gpus import first_of_each_package, has_many
from .matrices import Skip, hidden
from .notation import Cell, Endpoint, Flow
from .peers import MAX_GPUS

ONE_TO_ALL, ALL_TO_ONE, PAIRS, ONE_WAY = "one_to_all", "all_to_one", "pairs", "one_way"

_Pair = tuple[int, int]


@dataclass(frozen=True)
class Exchange:
    """Which exchange a cell is.

    ``hub`` is the one GPU of one to all and of all to one. ``pairs`` are (lower, higher) where both directions run, and
    (source, destination) where each GPU takes part in one flow alone (``one_way``: half of the GPUs to the others).
    """

    pattern: str
    hub: int | None = None
    pairs: tuple[_Pair, ...] = ()


def exchanges(node: Node) -> tuple[list[Cell], list[Skip]]:
    """One to all and all to one of each GPU; rounds of disjoint pairs, both directions at once, until each pair had its
    turn; the lower half of the GPUs with the upper one, each way and both. Nothing with fewer than three GPUs: pairs
    are ``peer_matrix``'s.

    *All* are the GPUs that the one has NVLink to; with fewer than two of those, all others. A round has pairs of one path
    class, each GPU in at most one pair, as many pairs as can be; of an odd number one waits, each in its turn. Halves
    are the two packages where the GPUs lie in two, else the lower and the upper numbers; the first GPU of one is paired
    with the first of the other. With more than ``FEW_GPUS`` GPUs the first one of each package is the only hub (the
    others are ``representative``); with more than ``MAX_GPUS`` each path class has its first round alone. A hidden GPU is
    skipped as ``denied``.
    """
    everyone = sorted(node.gpus, key=lambda gpu: gpu.index)
    seen = [gpu for gpu in everyone if gpu.visible]
    if len(everyone) < 3:
        return [], []
    hubs, skips = _hubs(node, everyone, seen)
    cells = [*hubs, *_rounds(node, seen), *bisection(node)]
    return list(dict.fromkeys(cell for cell in cells if _of_many(cell))), skips


def bisection(node: Node) -> list[Cell]:
    """The lower half of the visible GPUs to the upper one, back, and both at once; none with fewer than two pairs.

    Through an NVLink switch this is what the fabric carries from half to half; across packages, what the package link
    (and the bridges before it) carries; where pairs have lanes of their own, these lanes: not all that cross the cut.
    """
    gpus = [gpu for gpu in sorted(node.gpus, key=lambda gpu: gpu.index) if gpu.visible]
    packages = sorted({gpu.package for gpu in gpus if gpu.package is not None})
    if len(packages) == 2 and all(gpu.package is not None for gpu in gpus):
        lower, upper = ([gpu.index for gpu in gpus if gpu.package == package] for package in packages)
    else:
        half = len(gpus) // 2
        lower, upper = ([gpu.index for gpu in part] for part in (gpus[:half], gpus[half:]))
    pairs = list(zip(lower, upper))
    there, back = [_write(a, b) for a, b in pairs], [_write(b, a) for a, b in pairs]
    cells = [Cell(tuple(there)), Cell(tuple(back)), _both(pairs)]
    return cells if len(pairs) > 1 else []


def divided_by_the_fabric(cell: Cell) -> bool:
    """Whether the cell is one to all or all to one. Who gets how much of the one GPU's lanes is the fabric's choice: on
    healthy H200s one reader may have twice what the others have."""
    exchange = exchange_of(cell)
    return exchange is not None and exchange.hub is not None


def exchange_of(cell: Cell) -> Exchange | None:
    """Which exchange a cell is; None for anything but copy-engine flows between three GPUs or more, no two of them
    driven by the same GPU."""
    flows = cell.flows
    if any(flow.kind != "peer" or flow.options for flow in flows) or not _of_many(cell):
        return None
    if len({flow.driver or flow.source for flow in flows}) < len(flows):
        return None
    sources, destinations = [flow.source.index for flow in flows], [flow.destination.index for flow in flows]
    if len(set(sources)) == 1:
        return Exchange(ONE_TO_ALL, sources[0])
    if len(set(destinations)) == 1:
        return Exchange(ALL_TO_ONE, destinations[0])
    ways = set(zip(sources, destinations))
    if len(set(sources)) < len(flows) or len(set(destinations)) < len(flows):
        return None
    if not set(sources) & set(destinations):
        return Exchange(ONE_WAY, pairs=tuple(zip(sources, destinations)))
    if all((b, a) in ways for a, b in ways):
        return Exchange(PAIRS, pairs=tuple((a, b) for a, b in zip(sources, destinations) if a < b))
    return None


def _of_many(cell: Cell) -> bool:
    return len({gpu for flow in cell.flows for gpu in flow.gpus}) > 2


def _hubs(node: Node, everyone: Sequence[Gpu], seen: Sequence[Gpu]) -> tuple[list[Cell], list[Skip]]:
    """One to all and all to one of each GPU that is to be measured, and the skips of the others."""
    first = first_of_each_package(node)
    cells: list[Cell] = []
    skips: list[Skip] = []
    for gpu in everyone:
        others = _others(node, gpu.index, seen if gpu.visible else everyone)
        if len(others) < 2:
            continue
        two = [Cell(tuple(_read(gpu.index, b) for b in others)), Cell(tuple(_write(b, gpu.index) for b in others))]
        if not gpu.visible:
            skips += [hidden(cell, gpu) for cell in two]
        elif has_many(node) and first[gpu.package] != gpu.index:
            reason = f"represented by GPU {first[gpu.package]}'s (same package)"
            skips += [Skip(cell, reason, "representative") for cell in two]
        else:
            cells += two
    # First what leaves one GPU, then what enters it: tables and pages keep this order.
    return [*cells[::2], *cells[1::2]], skips


def _others(node: Node, index: int, gpus: Iterable[Gpu]) -> list[int]:
    """All that one GPU exchanges data with at once."""
    others = [gpu.index for gpu in gpus if gpu.index != index]
    linked = [other for other in others if peer_class(node, index, other).startswith("NV")]
    return linked if len(linked) > 1 else others


def _rounds(node: Node, gpus: Sequence[Gpu]) -> list[Cell]:
    """Rounds of disjoint pairs of one path class each; classes in the order in which they first occur."""
    indices = [gpu.index for gpu in gpus]
    classes: dict[str, list[_Pair]] = {}
    for position, a in enumerate(indices):
        for b in indices[position + 1 :]:
            classes.setdefault(peer_class(node, a, b), []).append((a, b))
    cells = []
    for pairs in classes.values():
        if len(gpus) > MAX_GPUS:
            cells.append(_both(_first_come(pairs)))
            continue
        taking_part = sorted({gpu for pair in pairs for gpu in pair})
        # Whoever is paired with the last of an odd number waits: in turns, so that a tournament has no round too many.
        waits = taking_part[-1] + 1
        left = set(pairs)
        if len(taking_part) % 2:
            left |= {(gpu, waits) for gpu in taking_part}
            taking_part.append(waits)
        while left:
            matched = _matching(tuple(taking_part), left)
            left -= set(matched)
            cells.append(_both(pair for pair in matched if waits not in pair))
    return [cell for cell in cells if cell.flows]


def _matching(gpus: tuple[int, ...], pairs: set[_Pair]) -> list[_Pair]:
    """As many disjoint pairs as can be; of those the ones of the lowest numbers."""
    best: list[_Pair] = []

    def search(left: tuple[int, ...], chosen: list[_Pair]) -> None:
        nonlocal best
        if len(chosen) > len(best):
            best = chosen
        if len(chosen) + len(left) // 2 <= len(best):
            return  # nothing better can come
        a, rest = left[0], left[1:]
        for b in rest:
            if (a, b) in pairs:
                search(tuple(gpu for gpu in rest if gpu != b), [*chosen, (a, b)])
        search(rest, chosen)

    search(gpus, [])
    return best


def _first_come(pairs: Iterable[_Pair]) -> list[_Pair]:
    """Disjoint pairs, each taken where both of its GPUs are free."""
    taken: list[_Pair] = []
    for pair in pairs:
        if not {gpu for other in taken for gpu in other} & set(pair):
            taken.append(pair)
    return taken


def _both(pairs: Iterable[_Pair]) -> Cell:
    return Cell(tuple(flow for a, b in pairs for flow in (_write(a, b), _write(b, a))))


def _write(a: int, b: int) -> Flow:
    return Flow(Endpoint("g", a), Endpoint("g", b))


def _read(a: int, b: int) -> Flow:
    return Flow(Endpoint("g", a), Endpoint("g", b), driver=Endpoint("g", b))
