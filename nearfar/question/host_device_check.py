"""How fast is every path between host memory and the GPUs: host to device, device to host, both at once; one unlocked."""

from nearfar import cells
from nearfar.cells import Cell, Skip
from nearfar.topology import Node

from .question import ACCEPT, NIGHTLY, Question


def matrix_and_pageable(node: Node) -> tuple[list[Cell], list[Skip]]:
    """The host-device matrix, and one copy from memory that is not page-locked: the driver's own staging."""
    asked, left_out = cells.host_device_cells(node)
    return [*asked, *cells.one_pageable(node)], left_out


QUESTION = Question(
    name="host_device_check",
    title="Host ↔ GPU",
    description="bandwidth between host memory and GPUs",
    program="nearfar-copy",
    cells=matrix_and_pageable,
    levels=(NIGHTLY, ACCEPT),
    systems=("+gpu",),
    nothing_to_ask="no GPU, or no host memory, on this node",
    explains=40,
)
