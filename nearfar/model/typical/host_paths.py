"""What copies between GPUs and host memory share, and those that the driver stages there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from nearfar.cells import Cell, Flow, flow_class
from nearfar.model.prediction import NodeType, link_ceiling, switches
from nearfar.topology import Gpu, Node

from .limits import Limit, NotDescribed, cpu_generation, gpus_of, limit, link_of, steps, weights

#: Seconds a GB that a copy through host memory takes beside its link's time, about 27 µs for each 4 MiB: with it V100, A100 and H100,
#: whose links differ by four, get the same share (medians of site/published-nodes, one way: 11.3, 21.6 and 37.3 GB/s).
_STAGING = 0.0065


def of_host(cell: Cell, node_type: NodeType) -> Iterator[Limit]:
    """A GPU's link one way and both; far memory; all GPUs of a package at once."""
    node = node_type.node
    for gpu in gpus_of(cell, node):
        own = {
            way: weights(f for f in cell.flows if gpu.index in f.gpus and f.direction == way) for way in ("h2d", "d2h")
        }
        ways = [way for way in own if own[way]]
        for way in ways:
            yield _link_limit(gpu, way, f"host.{way}", own[way], node_type)
        for way in ways:
            far = weights(f for f in own[way] if flow_class(node, f) == "off_socket")
            if far:
                yield limit(f"g{gpu.index}.{way}.far", "far", gpu.link, [way], far)
        both = node_type.capacities[f"g{gpu.index}.both"].value
        if len(ways) > 1 and both is not None:
            yield Limit(f"g{gpu.index}.both", (("", both),), own["h2d"] | own["d2h"])
        elif len(ways) > 1:
            for way in ways:
                yield limit(f"g{gpu.index}.both.{way}", f"host.both.{way}", gpu.link, [way], own[way])
    for memory in node.host_numa_nodes:
        controller = node_type.capacities[f"n{memory.index}.memory"]
        weight = {"h2d": controller.read_weight, "d2h": controller.write_weight}
        flows = {f: weight[f.direction] for f in cell.flows if f.numa_node == memory.index}
        if controller.value is not None and flows:
            yield Limit(controller.name, (("", controller.value),), flows)
    yield from _of_shared_links(cell, node)
    for package in node.packages:
        gpus = [gpu for gpu in node.gpus if gpu.package == package.index]
        flows = weights(f for f in cell.flows for gpu in gpus if gpu.index in f.gpus)
        if len(gpus) > 1 and {f.gpus[0] for f in flows} == {gpu.index for gpu in gpus}:
            ways = sorted({f.direction for f in flows})
            known = [rate for gpu in gpus for way in ways if (rate := link_ceiling(gpu.link, way)) is not None]
            what = ways[0] if len(ways) == 1 else "both"
            if len(known) == len(gpus) * len(ways):
                yield Limit(f"p{package.index}.{what}", steps(f"package.{what}", gpus[0].link, sum(known)), flows)


def of_staged(cell: Cell, node_type: NodeType) -> Iterator[Limit]:
    """Copies through host memory, in pieces: of one pair, one way or both; below one switch they share its link twice."""
    if len({frozenset(flow.gpus) for flow in cell.flows}) > 1:
        raise NotDescribed
    link, count = gpus_of(cell, node_type.node)[0].link, len(cell.flows)
    ways = ".both" if count > 1 else ""
    if flow_class(replace(node_type.node, peers={}), cell.flows[0]) in ("PIX", "PXB"):
        yield limit("host", f"staged.switch{ways}", link, ["d2h"] * count, weights(cell.flows))
    elif (carried := link_ceiling(link, "d2h")) is not None:
        base, generation = count / (1 / carried + _STAGING), cpu_generation(node_type.node)
        like = ((f"staged{ways}.{generation}", base),) if generation else ()
        yield Limit("host", (*like, (f"staged{ways}", base)), weights(cell.flows))
    else:
        raise NotDescribed


def _of_shared_links(cell: Cell, node: Node) -> Iterator[Limit]:
    """The uplink of a PCIe switch; several links of one host bridge (a root complex, or the part of an I/O die that it is)."""
    for bridge, below in switches(node).items():
        for way in ("h2d", "d2h"):
            flows = weights(f for f in cell.flows if f.gpus[0] in below and f.direction == way)
            if len(flows) > 1:
                yield limit(f"switch:{bridge}.{way}", f"host.{way}", link_of(below, node), [way], flows)
    gpus = [] if node.virtual_machine else gpus_of(cell, node)
    for root in dict.fromkeys(gpu.host_bridge for gpu in gpus if gpu.host_bridge):
        here = {gpu.index: gpu.uplinks[-1:] for gpu in gpus if gpu.host_bridge == root}
        for way in ("h2d", "d2h"):
            flows = weights(f for f in cell.flows if f.gpus[0] in here and f.direction == way)
            links = len({here[f.gpus[0]] for f in flows})
            if links > 1:
                yield limit(f"{root}.{way}", f"bridge.{way}", link_of(here, node), [way] * links, flows)


def _link_limit(gpu: Gpu, way: str, what: str, flows: Mapping[Flow, float], node_type: NodeType) -> Limit:
    name = f"g{gpu.index}.{way}"
    value = node_type.capacities[name].value
    if value is not None:
        return Limit(name, (("", value),), flows)
    return limit(name, what, gpu.link, ["h2d", "d2h"] if way == "both" else [way], flows)
