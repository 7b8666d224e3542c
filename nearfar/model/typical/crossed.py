"""Every limit of a cell on a node: what copies between GPUs share (NVLink lanes, or PCIe links, switches and the link between packages),
and those between GPUs and host memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from nearfar.base import grouped
from nearfar.cells import Cell, Flow, flow_class
from nearfar.model.prediction import NodeType, lanes_ceiling, link_ceiling, peer_link, plain, switches
from nearfar.topology import OWN_LINKS, Gpu, Link, Node, behind_nvswitch

from .limits import PEAK, Limit, NotDescribed, cpu_generation, gpus_of, limit, link_of, of_any_link, steps, weights


def limits_of(cell: Cell, node_type: NodeType) -> list[Limit]:
    """Every limit of the cell, the one that its figure tells of last. Raises ``NotDescribed``."""
    node = node_type.node
    kinds = {_kind(flow, node) for flow in cell.flows}
    if len(kinds) > 1:
        raise NotDescribed
    rules = {"host": of_host, "staged": of_staged, "own link": of_own_links, "peers": of_peers}
    caps = [(flow, cap.value) for flow in cell.flows if (cap := node_type.caps.get(Cell((plain(flow),)))) is not None]
    own = [Limit(str(flow), (("", value),), {flow: 1.0}) for flow, value in caps if value is not None]
    return [*own, *rules[kinds.pop()](cell, node_type)]


def _kind(flow: Flow, node: Node) -> str:
    if flow.kind == "host" and not flow.pageable:
        return "host"
    if flow.kind != "peer" or (path := flow_class(node, flow)) == "unknown":
        raise NotDescribed
    if flow.staged or path.startswith(OWN_LINKS):
        return "staged" if flow.staged else "own link"
    if any(gpu.link.kind != "pcie" for gpu in node.gpus if gpu.index in flow.gpus):
        raise NotDescribed  # whether such GPUs reach each other through the host at all differs
    return "peers"


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
        one_way = node_type.xgmi if lanes is None else link_ceiling(lanes)
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
            fans.append(limit(f"g{gpu.index}.fan", "fan", gpu.link, out | into, 2))
    for bridge, below in switches(node).items():
        chip = next((chip for chip in node_type.chips if list(below) in chip), [below])
        out, into = _out_and_in(cell, below, {gpu for group in chip for gpu in group})
        if out or into:
            yield from _shared(f"switch:{bridge}", link_of(below, node), out, into)
    yield from _across(cell, node, gpus)
    yield from fans


def _across(cell: Cell, node: Node, gpus: Sequence[Gpu]) -> Iterator[Limit]:
    """The link between two packages, each way by itself: it carries both at once."""
    home = {gpu.index: gpu.package or 0 for gpu in gpus}
    apart = [f for f in cell.flows if flow_class(node, f) == "SYS_off"]
    for (a, b), flows in grouped(((home[f.source.index], home[f.destination.index]), f) for f in apart).items():
        yield limit(f"p{a}-p{b}", "across", gpus[0].link, weights(flows), between=cpu_generation(node))


def _shared(name: str, link: Link, out: Mapping[Flow, float], into: Mapping[Flow, float]) -> Iterator[Limit]:
    """Both ways of a PCIe link that copies between GPUs use, and both at once."""
    for way, flows in (("out", out), ("in", into)):
        if flows:
            yield limit(f"{name}.{way}", "peers", link, flows)
    if out and into:
        yield of_any_link(limit(f"{name}.both", "peers.both", link, {**out, **into}, 2))


def _out_and_in(
    cell: Cell, gpus: Collection[int], beside: Collection[int] = ()
) -> tuple[dict[Flow, float], dict[Flow, float]]:
    """The flows that leave these GPUs for others, and those that enter them; those with the GPUs ``beside`` need no uplink."""
    flows = [f for f in cell.flows if f.source.index not in beside or f.destination.index not in beside]
    inside = [(f, f.source.index in gpus, f.destination.index in gpus) for f in flows]
    return weights(f for f, a, b in inside if a and not b), weights(f for f, a, b in inside if b and not a)


#: GB/s of links beyond which far memory is as fast as what joins the packages, no share of the link: 35 to 42 of 73 on POWER9, 75 of 450 on
#: Grace.
_AS_FAST_AS_PACKAGES = 60.0
#: Seconds a GB that a copy through host memory takes beside its link's time, about 27 µs for each 4 MiB: with it V100, A100 and H100,
#: whose links differ by four, get the same share (medians of site/published-nodes, one way: 11.3, 21.6 and 37.3 GB/s).
_STAGING = 0.0065


def of_host(cell: Cell, node_type: NodeType) -> Iterator[Limit]:
    """The memory; a GPU's link one way and both; far memory; all GPUs of a package at once."""
    node = node_type.node
    for memory in node.host_numa_nodes:
        controller = node_type.capacities[f"n{memory.index}.memory"]
        weight = {"h2d": controller.read_weight, "d2h": controller.write_weight}
        flows = {f: weight[f.direction] for f in cell.flows if f.numa_node == memory.index}
        name, most = (PEAK, controller.best) if controller.value is None else ("", controller.value)
        if most is not None and flows:
            yield Limit(controller.name, ((name, most),), flows)
    for gpu in gpus_of(cell, node):
        own = {
            way: weights(f for f in cell.flows if gpu.index in f.gpus and f.direction == way) for way in ("h2d", "d2h")
        }
        ways = [way for way in own if own[way]]
        for way in ways:
            name, value = f"g{gpu.index}.{way}", node_type.capacities[f"g{gpu.index}.{way}"].value
            given = None if value is None else Limit(name, (("", value),), own[way])
            yield given or of_any_link(limit(name, f"host.{way}", gpu.link, own[way]))
        for way in ways:
            far = weights(f for f in own[way] if flow_class(node, f) == "off_socket")
            if far and (link_ceiling(gpu.link) or 0) > _AS_FAST_AS_PACKAGES:
                raise NotDescribed
            if far:
                yield limit(f"g{gpu.index}.{way}.far", "far", gpu.link, far)
        both = node_type.capacities[f"g{gpu.index}.both"].value
        if len(ways) > 1 and both is not None:
            yield Limit(f"g{gpu.index}.both", (("", both),), own["h2d"] | own["d2h"])
        elif len(ways) > 1:
            for way in ways:
                yield of_any_link(limit(f"g{gpu.index}.both.{way}", f"host.both.{way}", gpu.link, own[way]))
    yield from _of_shared_links(cell, node)
    for package in node.packages:
        gpus = [gpu for gpu in node.gpus if gpu.package == package.index]
        flows = weights(f for f in cell.flows for gpu in gpus if gpu.index in f.gpus)
        if len(gpus) > 1 and {f.gpus[0] for f in flows} == {gpu.index for gpu in gpus}:
            ways = sorted({f.direction for f in flows})
            known = [rate for gpu in gpus if (rate := link_ceiling(gpu.link)) is not None] * len(ways)
            what = ways[0] if len(ways) == 1 else "both"
            if len(known) == len(gpus) * len(ways):
                # The memory is no faster behind faster links, or more of them.
                shares = steps(f"package.{what}.x{len(gpus)}", gpus[0].link, sum(known))
                yield Limit(f"p{package.index}.{what}", shares[:1], flows)
    for gpu in gpus_of(cell, node):
        for way in ("h2d", "d2h"):
            if kernels := weights(f for f in cell.flows if gpu.index in f.gpus and f.direction == way and f.sm):
                alike = limit(f"g{gpu.index}.{way}.sm", f"host.sm.{way}", gpu.link, kernels)
                yield replace(alike, steps=alike.steps[:1])  # kernels of one generation say nothing of another's


def of_staged(cell: Cell, node_type: NodeType) -> Iterator[Limit]:
    """Copies through host memory, in pieces: of one pair, one way or both; below one switch they share its link twice."""
    if len({frozenset(flow.gpus) for flow in cell.flows}) > 1:
        raise NotDescribed
    link, count = gpus_of(cell, node_type.node)[0].link, len(cell.flows)
    ways = ".both" if count > 1 else ""
    if flow_class(replace(node_type.node, peers={}), cell.flows[0]) in ("PIX", "PXB"):
        yield limit("host", f"staged.switch{ways}", link, weights(cell.flows), count)
    elif (carried := link_ceiling(link)) is not None:
        yield Limit("host", ((f"staged{ways}", count / (1 / carried + _STAGING)),), weights(cell.flows))
    else:
        raise NotDescribed


def _of_shared_links(cell: Cell, node: Node) -> Iterator[Limit]:
    """The uplink of a PCIe switch; several links of one host bridge (a root complex, or the part of an I/O die that it is)."""
    for bridge, below in switches(node).items():
        for way in ("h2d", "d2h"):
            flows = weights(f for f in cell.flows if f.gpus[0] in below and f.direction == way)
            if len(flows) > 1:
                yield of_any_link(limit(f"switch:{bridge}.{way}", f"host.{way}", link_of(below, node), flows))
    gpus = [] if node.virtual_machine else gpus_of(cell, node)
    for root in dict.fromkeys(gpu.host_bridge for gpu in gpus if gpu.host_bridge):
        here = {gpu.index: gpu.uplinks[-1:] for gpu in gpus if gpu.host_bridge == root}
        for way in ("h2d", "d2h"):
            flows = weights(f for f in cell.flows if f.gpus[0] in here and f.direction == way)
            links = len({here[f.gpus[0]] for f in flows})
            if links > 1:
                yield limit(f"{root}.{way}", f"bridge.{way}", link_of(here, node), flows, links)
