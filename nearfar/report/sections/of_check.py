"""What a page shows of a check beside its list of figures: tables and curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.report.blocks import Block
from nearfar.report.figures import Figure
from nearfar.topology import Node

from .balance import balances
from .collectives import collective_blocks
from .contention import contention_tables
from .kernels import kernel_blocks
from .mpi import mpi_tables, numa_pair_tables
from .size_curves import curves_over_size


def check_blocks(figures: list[Figure], document: Mapping[str, Any], node: Node | None) -> list[Block]:
    """Tables and curves of figures that are not of cells alone."""
    return [
        *curves_over_size(figures, document),
        *mpi_tables(figures, document),
        *collective_blocks(figures, document, node),
        *numa_pair_tables(figures),
        *balances(document),
        *contention_tables(document),
        *kernel_blocks(document),
    ]
