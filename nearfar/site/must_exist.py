"""What must exist of what a check asks for, and who says so: the site's files, the GPUs' model, references of the site.

A program that answers ``unsupported`` is right where nobody says that the path is there, as between GPUs that PCIe alone joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from nearfar.cells import Cell, Flow
from nearfar.measurement import AnyMetric, SubjectMetric
from nearfar.model.prediction import NodeType
from nearfar.topology import Node
from nearfar.verdict import KnownPath
from nearfar.verdict.references import ReferenceFile, model_of, row_keys

from .systems import Partition, System
from .topology_diff import not_compared

#: A GPU maps so many peers at least; of one more a device says that it is unsupported too.
_PEERS = 8

Links = Mapping[tuple[int, int], KnownPath]


def cells(asked: Iterable[Cell], node: Node, links: Links) -> dict[Cell, KnownPath]:
    """The cells that the expected node must have: every flow of them is one of its paths."""
    known_cells = {}
    for cell in asked:
        flows = [_flow(flow, node, links) for flow in cell.flows]
        known = [path for path in flows if path is not None]
        if len(known) == len(flows):
            who = "; ".join(dict.fromkeys(path.who for path in known))
            known_cells[cell] = KnownPath(who, all(path.link for path in known))
    return known_cells


def links(
    system: System,
    partition: Partition,
    node_type: NodeType | None,
    node: Node,
    models: Mapping[str, Mapping[str, Any]],
) -> Links:
    """The pairs of GPUs of the expected ``node`` that NVLink must join.

    From the most precise word to the most general: the pairs of the node type, the lanes that node type, system or
    partition give each GPU (0: none are expected), those of the GPU's model in ``models``, and what the driver itself
    shows. Lanes lead to a switch, and so to every GPU, unless the pairs that are known say otherwise. A file that nobody
    has reviewed was written by the very machine: what the device says of it is no evidence.
    """
    evidence = not_compared(system, partition, node_type) is None and len(node.gpus) <= _PEERS + 1
    expected = partition.expectation(node_type).get("nvlinks")
    where = system.file if "nvlinks" in partition.expect else None if node_type is None else node_type.file
    named = {} if node_type is None else _joined(node_type.node)
    seen = named or _joined(node)
    everywhere = not seen or (not named and _switched(node, seen))
    paths = {}
    for a, b in combinations(sorted(gpu.index for gpu in node.gpus), 2):
        pair = (a, b)
        lanes = expected if expected is not None else _least(_of_type(node_type, gpu) for gpu in pair)
        modelled = _least(models.get(_model(node, gpu), {}).get("nvlinks") for gpu in pair)
        if lanes == 0 or not (everywhere or pair in seen):
            continue
        if pair in named and node_type is not None:
            paths[pair] = KnownPath(f"{node_type.file} joins GPUs by {named[pair]}", evidence)
        elif lanes:
            paths[pair] = KnownPath(f"{where} gives each GPU {lanes} NVLink lanes", evidence)
        elif modelled:
            source = f"site/gpus gives each {_model(node, a)} {modelled} NVLink lanes"
            paths[pair] = KnownPath(
                f"{source}; `expect: {{nvlinks: 0}}` in the system's file declares that there are none"
            )
        elif pair in seen:
            paths[pair] = KnownPath(f"the driver shows {seen[pair]} between GPUs")
    return paths


def rows(
    figures: Iterable[AnyMetric], check_of: Callable[[AnyMetric], str], files: Sequence[ReferenceFile], node: Node
) -> dict[Cell | str, KnownPath]:
    """What the references of the site have a value for, of the figures that a check can have on the expected ``node``."""
    known_paths: dict[Cell | str, KnownPath] = {}
    for metric in figures:
        for file in files:
            row = file.row(check_of(metric), model_of(metric, node), row_keys(metric))
            if row is not None:
                subject = metric.subject if isinstance(metric, SubjectMetric) else metric.cell
                known_paths.setdefault(subject, KnownPath(f"{row.file}:{row.line} has a value for it"))
    return known_paths


def _flow(flow: Flow, node: Node, links: Links) -> KnownPath | None:
    memories = {memory.index for memory in node.host_numa_nodes}
    if any(node.gpu(index) is None for index in flow.gpus):
        return None
    if flow.kind == "stream":
        a, b = flow.source.index, flow.destination.index
        there = b in memories and node.numa_node(a) is not None
        return KnownPath("the node has these NUMA nodes") if there else None
    if flow.kind in ("gpu_stream", "compute"):
        return None
    if flow.kind == "local":
        return KnownPath("the node has this GPU")
    if flow.kind == "host":
        # Pageable and huge pages are settings of the machine.
        if flow.numa_node not in memories or flow.pageable or flow.huge:
            return None
        return KnownPath("the node has this memory and this GPU")
    if flow.staged:
        return KnownPath("the node has both GPUs, and host memory between them") if memories else None
    return links.get((min(flow.gpus), max(flow.gpus)))


def _joined(node: Node) -> dict[tuple[int, int], str]:
    return {pair: link for pair, link in node.peers.items() if link.startswith("NV")}


def _switched(node: Node, seen: Mapping[tuple[int, int], str]) -> bool:
    """Whether a GPU is joined by more lanes than it has: they all lead to a switch."""
    for gpu in node.gpus:
        ways = sum(int(link[2:]) for pair, link in seen.items() if gpu.index in pair and link[2:].isdigit())
        if gpu.nvlinks and ways > gpu.nvlinks:
            return True
    return False


def _of_type(node_type: NodeType | None, index: int) -> int | None:
    gpu = None if node_type is None else node_type.node.gpu(index)
    return None if gpu is None else gpu.nvlinks


def _model(node: Node, index: int) -> str:
    gpu = node.gpu(index)
    return (gpu.name if gpu is not None else None) or ""


def _least(lanes: Iterable[int | None]) -> int | None:
    """Of both GPUs of a pair; None where one is not known."""
    known = list(lanes)
    return None if None in known else min(count for count in known if count is not None)
