"""How fast is every path between host memory and the GPUs: each direction, both at once; one unlocked, one from a far core."""

from nearfar import cells
from nearfar.cells import Cell, Skip
from nearfar.topology import Node

from .question import ACCEPT, NIGHTLY, Question


def matrix_and_pageable(node: Node) -> tuple[list[Cell], list[Skip]]:
    """The host-device matrix, one copy from memory that is not page-locked (the driver's own staging), and one of which the core alone
    is far."""
    asked, left_out = cells.host_device_cells(node)
    return [*asked, *cells.one_pageable(node), *cells.one_core_far(node)], left_out


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
