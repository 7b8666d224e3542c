"""What a cell cannot exceed, whatever the machine: its links at line rate both ways, its memories at their peak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nearfar.cells import Cell, Flow, flow_class
from nearfar.topology import OWN_LINKS

from .ceilings import line_rate
from .node_types import NodeType


def most_of(cell: Cell, node_type: NodeType, memories: Mapping[str, float]) -> float | None:
    """GB/s that the flows of a cell cannot carry together; ``memories``: what a GPU's memory carries at most, GB/s, by model.

    None where a link or a memory on the way is not known, and of flows over NVLink between GPUs, which share their lanes.
    """
    most: dict[str, float] = {}
    for flow in cell.flows:
        limits = list(_limits(flow, node_type, memories))
        known = [limit for _, limit in limits if limit is not None]
        if not limits or len(known) < len(limits):
            return None
        # Flows that cross one part share it: it counts once.
        part, limit = min(limits, key=lambda entry: entry[1] or 0.0)
        most[part] = limit or 0.0
    return sum(most.values())


def _limits(flow: Flow, node_type: NodeType, memories: Mapping[str, float]) -> Iterator[tuple[str, float | None]]:
    """The parts that a flow crosses, with what it can carry over each at most; nothing of what is not known here."""
    gpus = [gpu for index in flow.gpus if (gpu := node_type.node.gpu(index)) is not None]
    if flow.kind == "stream":
        numa = node_type.node.numa_node(flow.destination.index)
        yield f"n{flow.destination.index}", None if numa is None else numa.peak
    elif flow.kind == "host":
        yield f"g{flow.gpus[0]}.{flow.direction}", line_rate(gpus[0].link)
    elif flow.kind in ("local", "gpu_stream") and flow.source == flow.destination:
        peak = node_type.capacities[f"g{flow.gpus[0]}.memory"].peak
        memory = memories.get(gpus[0].name or "") if peak is None else peak
        # A copy reads and writes.
        yield f"g{flow.gpus[0]}", memory if memory is None or flow.kernel else memory / 2
    elif flow.kind == "gpu_stream" and flow.destination.kind == "n":
        rate = line_rate(gpus[0].link)
        yield f"g{flow.gpus[0]}.both", None if rate is None else 2 * rate
    elif flow.kind == "peer" and (flow.staged or not flow_class(node_type.node, flow).startswith(OWN_LINKS)):
        for gpu, way in zip(gpus, ("d2h", "h2d")):
            yield f"g{gpu.index}.{way}", line_rate(gpu.link)
