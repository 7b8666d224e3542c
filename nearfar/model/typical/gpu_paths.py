"""What copies between GPUs share: NVLink lanes, or PCIe links, switches and the link between packages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from nearfar.cells import Cell, Flow, flow_class
from nearfar.model.prediction import NodeType, lanes_ceiling, link_ceiling, peer_link, switches
from nearfar.topology import Gpu, Link, Node, behind_nvswitch

from .limits import Limit, cpu_generation, gpus_of, limit, link_of, steps, weights


def of_own_links(cell: Cell, node_type: NodeType) -> Iterator[Limit]:
    """NVLink lanes or an xGMI link of their own between two GPUs, or each GPU's lanes to the switch."""
    node = node_type.node
    switched = behind_nvswitch(node)
    if all(gpu.index in switched for gpu in gpus_of(cell, node)):
        for gpu in gpus_of(cell, node):
            link, most = Link("nvlink", gpu.nvlink_generation, gpu.nvlinks), lanes_ceiling(node, gpu.index)
            out, into = _out_and_in(cell, {gpu.index})
            for way, flows in (("out", out), ("in", into)):
                if flows:
                    yield Limit(f"g{gpu.index}.{way}", steps("nvlink", link, most), flows)
            if out and into:
                yield Limit(f"g{gpu.index}.lanes", steps("nvlink.both", link, most and 2 * most), out | into)
        return
    for pair in dict.fromkeys(frozenset(flow.gpus) for flow in cell.flows):
        name = "-".join(f"g{gpu}" for gpu in sorted(pair))
        lanes = peer_link(node, *sorted(pair))
        what, link = ("xgmi", Link("xgmi")) if lanes is None else ("nvlink", lanes)
        one_way = node_type.xgmi if lanes is None else link_ceiling(lanes, "p2p")
        between = [flow for flow in cell.flows if frozenset(flow.gpus) == pair]
        for flow in between:
            yield Limit(f"{name}.{flow.source}", steps(what, link, one_way), {flow: 1.0})
        if len(between) > 1:
            yield Limit(name, steps(f"{what}.both", link, one_way and 2 * one_way), weights(between))


def of_peers(cell: Cell, node_type: NodeType) -> Iterator[Limit]:
    """PCIe peers: each GPU's link, a switch's uplink, the link between packages; all with all at last."""
    node = node_type.node
    gpus = gpus_of(cell, node)
    fans = []
    for gpu in gpus:
        out, into = _out_and_in(cell, {gpu.index})
        yield from _shared(f"g{gpu.index}", gpu.link, out, into)
        if len(out) > 1 and len(into) > 1:
            fans.append(limit(f"g{gpu.index}.fan", "fan", gpu.link, ["d2h"] * 2, out | into))
    for bridge, below in switches(node).items():
        chip = next((chip for chip in node_type.chips if list(below) in chip), [below])
        out, into = _out_and_in(cell, below, {gpu for group in chip for gpu in group})
        if out or into:
            yield from _shared(f"switch:{bridge}", link_of(below, node), out, into)
    yield from _across(cell, node, gpus)
    yield from fans


def _across(cell: Cell, node: Node, gpus: Sequence[Gpu]) -> Iterator[Limit]:
    """The link between two packages, each way and both."""
    home = {gpu.index: gpu.package or 0 for gpu in gpus}
    link, generation = gpus[0].link, cpu_generation(node)
    apart = [f for f in cell.flows if flow_class(node, f) == "SYS_off"]
    ways: dict[tuple[int, int], list[Flow]] = {}
    for flow in apart:
        ways.setdefault((home[flow.source.index], home[flow.destination.index]), []).append(flow)
    for (a, b), flows in ways.items():
        yield limit(f"p{a}-p{b}", "across", link, ["d2h"], weights(flows), generation)
    for (a, b), flows in ways.items():
        if a < b and (b, a) in ways:
            both = weights([*flows, *ways[b, a]])
            yield limit(f"p{a}-p{b}.both", "across.both", link, ["d2h"] * 2, both, generation)


def _shared(name: str, link: Link, out: Mapping[Flow, float], into: Mapping[Flow, float]) -> Iterator[Limit]:
    """Both ways of a PCIe link that copies between GPUs use, and both at once."""
    for way, flows in (("out", out), ("in", into)):
        if flows:
            yield limit(f"{name}.{way}", "peers", link, ["d2h"], flows)
    if out and into:
        yield limit(f"{name}.both", "peers.both", link, ["d2h"] * 2, {**out, **into})


def _out_and_in(
    cell: Cell, gpus: Collection[int], beside: Collection[int] = ()
) -> tuple[dict[Flow, float], dict[Flow, float]]:
    """The flows that leave these GPUs for others, and those that enter them; those with the GPUs ``beside`` need no uplink."""
    flows = [f for f in cell.flows if f.source.index not in beside or f.destination.index not in beside]
    inside = [(f, f.source.index in gpus, f.destination.index in gpus) for f in flows]
    return weights(f for f, a, b in inside if a and not b), weights(f for f, a, b in inside if b and not a)
