"""What predictions lack, in words: which capacities nobody knows, what stands for them, and the keys that would tell, as YAML to paste."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nearfar.base import grouped
from nearfar.cells import parsed
from nearfar.topology import Node

from .capacities import Capacity, switches
from .node_types import NodeType


def not_known(unknown: Collection[Capacity], node_type: NodeType, whole: bool = False) -> Iterator[str]:
    """A line for each reason why capacities are not known, one for each limit that stands for some, and the keys of the node type's
    file that would tell; ``whole``: all keys of a node of which no capacity is given."""
    limits = grouped(
        ("at most, by its peak" if c.peak is not None else f"nominal: {c.nominal_words}", f"{c.name} {c.best:.2f}")
        for c in unknown
        if c.best is not None
    )
    for reason, names in grouped((capacity.source, capacity.name) for capacity in unknown).items():
        yield f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not known: {reason}"
    for why, names in limits.items():
        yield f"{', '.join(names)} GB/s {why}"
    if unknown and node_type.node.not_measured:
        yield node_type.node.not_measured
    elif unknown and node_type.file is not None:
        yield f"to give their values, add to {node_type.where}:"
        yield from missing_keys(unknown, node_type, whole)


def missing_keys(unknown: Collection[Capacity], node_type: NodeType, whole: bool = False) -> Iterator[str]:
    """The sections of a node type's file that would say what is not known, as YAML to paste: links whose generation or width is not known,
    capacities and caps, each with its unit and what measures it. ``whole``: all of the node, where no capacity is given at all."""
    node = node_type.node
    whole = whole and all(c.value is None for c in node_type.capacities.values())
    names = list(
        dict.fromkeys(c.told_by or c.name for c in (*unknown, *(node_type.capacities.values() if whole else ())))
    )
    caps = [name for name in names if parsed(name)]
    crossed = {name.partition(".")[0] for name in names}
    vague = [gpu for gpu in node.gpus if f"g{gpu.index}" in crossed and None in (gpu.link.gen, gpu.link.width)]
    yield "# GB/s is 1e9 bytes per second. All values at once, from a run on such a node:"
    yield f"# nearfar calibrate --node {node_type.name} --yaml RUN"
    yield "# If the file already has one of these keys, add the lines under it; replace an empty `capacities: {}`."
    if vague:
        yield "links:"
    for gpu in vague:
        how = f"generation, lanes: nvidia-smi -q -i {gpu.index}, GPU Link Info"
        speed = f", speed: {gpu.link.speed:g}" if gpu.link.speed else ""
        yield f"  g{gpu.index}: {{kind: {gpu.link.kind}, gen: {gpu.link.gen or 'null'}, width: {gpu.link.width or 'null'}{speed}}}  # {how}"
    for section, keys in (("capacities", [name for name in names if name not in caps]), ("caps", caps)):
        if keys:
            yield f"{section}:"
        for name in keys:
            cell = _measured_by(name, node) if section == "capacities" else name
            how = f": nearfar-copy {cell}" if cell else ""
            yield f"  {name}: {{value: null, reason: not measured}}  # GB/s{how}"


def _measured_by(name: str, node: Node) -> str:
    """A cell that fills a capacity; empty: none of this node does."""
    part, _, way = name.rpartition(".")
    memory = next((numa.index for numa in node.host_numa_nodes), 0)
    if part in (bridges := {f"switch:{pci}": gpus for pci, gpus in switches(node).items()}):
        gpus: Collection[int] = bridges[part]
    elif part[:1] == "n":
        return f"c{part[1:]}:{part}/triad"
    elif not part:  # from a package to another
        a, b = (int(package[1:]) for package in way.split("-"))
        homes = {
            package: [numa.index for numa in node.host_numa_nodes if numa.package == package] for package in (a, b)
        }
        return f"c{homes[b][0]}:n{homes[a][0]}/triad" if homes[a] and homes[b] else ""
    else:
        own = node.gpu(int(part[1:]))
        gpus = [int(part[1:])]
        memory = memory if own is None or own.numa_node is None else own.numa_node
    if way == "memory":
        return f"{part}:{part}/triad"
    if way in ("in", "out"):
        others = [gpu.index for gpu in node.gpus if gpu.index not in gpus]
        return "+".join(f"{part}:g{other}" if way == "out" else f"g{other}:{part}" for other in others)
    ways = {"h2d": "h", "down": "h", "d2h": "d", "up": "d"}.get(way, "hd")
    return "+".join(f"n{memory}:g{gpu}" if one == "h" else f"g{gpu}:n{memory}" for one in ways for gpu in gpus)
