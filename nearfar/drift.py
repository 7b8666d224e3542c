"""Is the node at hand the one that the site's file describes: the topology's findings, item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearfar.cells import Cell
from nearfar.measurement import Document
from nearfar.systems import System
from nearfar.topology import Node, compare, host_class
from nearfar.verdict import Finding

#: The classes of a path to load a GPU's link by, best first.
_BEST = ("near", "sole", "on_socket", "unknown", "off_socket")


def loading_cells(node: Node, matrix: Sequence[Cell]) -> list[Cell]:
    """One lone host-to-device cell for each GPU of the matrix, from the nearest memory there is."""
    chosen: dict[int, tuple[int, Cell]] = {}
    for cell in matrix:
        flow = cell.flows[0]
        if not cell.lone or flow.direction != "h2d" or flow.numa_node is None:
            continue
        gpu = flow.gpus[0]
        rank = _BEST.index(host_class(node, flow.numa_node, gpu))
        if gpu not in chosen or rank < chosen[gpu][0]:
            chosen[gpu] = (rank, cell)
    return [cell for _, cell in chosen.values()]


def findings(
    system: System,
    expectation: Mapping[str, Any],
    expected: Node,
    observed: Node | None,
    document: Document | None,
    acceptance: bool,
) -> list[Finding]:
    """What differs between the expected node and the observed one, with links as they are under load.

    A system that nobody has reviewed is not compared: its file was written by the very machine. What remains there is
    whether each link does under load what its own ends allow.
    """
    if observed is None:
        return [Finding("topology", "INDETERMINATE", "topology not compared: the job left no description of its node")]
    entries = [] if document is None else document.raw.get("gpus_under_load", [])
    under_load = {entry["index"]: entry for entry in entries}
    if system.file is None or system.unreviewed:
        if system.file is None:
            why = "no system file describes this machine; nearfar detect --site NAME writes a first one"
        else:
            why = f"{system.file} is unreviewed; compare it with the machine and remove that line"
        word = "INDETERMINATE" if acceptance else "PASS"
        sleepy = [d for d in compare(observed, observed, under_load) if ".link" in d.item]
        return [
            Finding("topology", word, f"topology not compared: {why}"),
            *(Finding(d.item, "DEGRADED", d.sentence) for d in sleepy),
        ]
    differences = compare(expected, observed, under_load, expectation)
    return [Finding(d.item, "FAIL", d.sentence, hard=True) for d in differences]
