"""What commands that measure nothing answer: what a node is, where its ranks belong, what cells should reach."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from nearfar.base import NearfarError, plural
from nearfar.binding import Layout, place
from nearfar.cells import parse, pretty
from nearfar.model.prediction import load_node_type, predict
from nearfar.report.figures import link_words, number
from nearfar.topology import Node, format_cpu_list

from .paper_files import PaperRow

#: Ranks that a line names.
_RANKS = 4


def by_model(row: PaperRow, directories: Sequence[Path]) -> str:
    """What ``nearfar predict --node TYPE CELL …`` of a row answers; empty where its command is another."""
    argv = shlex.split(row.command)
    if argv[:3] != ["nearfar", "predict", "--node"]:
        return ""
    answers = []
    for text in argv[4:]:
        try:
            model = predict(parse(text), load_node_type(argv[3], directories))
        except NearfarError as error:
            return str(error)
        if model.total is not None:
            limits = f", limited by {', '.join(model.limited_by)}" if model.limited_by else ""
            answers.append(f"{argv[3]}, {pretty(parse(text))}: {number(model.total)} GB/s, {model.basis}{limits}")
    return "; ".join(answers)


def here(row: PaperRow, node: Node | None) -> str:
    """What ``nearfar detect`` and ``nearfar bind`` of a row say of this site's node; empty where its command is another."""
    argv = shlex.split(row.command)
    if node is None or argv[:1] != ["nearfar"]:
        return ""
    if argv[1] == "detect":
        return parts(node)
    if argv[1] != "bind":
        return ""
    if not node.gpus:
        return "no GPU: there is no rank to put beside one"
    try:
        placements = place(node, Layout(ranks_per_gpu=1))
    except NearfarError as error:
        return str(error)
    ranks = [
        f"g{rank.gpu}: CPUs {format_cpu_list(rank.cpus)}, memory {', '.join(f'n{index}' for index in rank.memory_nodes)}"
        for rank in placements
        if rank.gpu is not None
    ]
    more = f"; and {len(ranks) - _RANKS} more" if len(ranks) > _RANKS else ""
    return "; ".join(ranks[:_RANKS]) + more


def parts(node: Node) -> str:
    """``2 packages, 2 NUMA nodes; 3 × Tesla M2070, PCIe 2 ×16: g0 at n0, g1 and g2 at n1``."""
    named = [f"{gpu.name or 'GPU'}, {link_words(gpu.link, most=True)}" for gpu in node.gpus]
    gpus = "; ".join(f"{named.count(name)} × {name}" for name in dict.fromkeys(named)) or "no GPU"
    places: dict[int, list[str]] = {}
    for gpu in node.gpus:
        if gpu.numa_node is not None:
            places.setdefault(gpu.numa_node, []).append(f"g{gpu.index}")
    at = ", ".join(f"{' and '.join(names)} at n{index}" for index, names in sorted(places.items()))
    counted = f"{plural(len(node.packages), 'package')}, {plural(len(node.host_numa_nodes), 'NUMA node')}"
    return f"{counted}; {gpus}{f': {at}' if at else ''}"
