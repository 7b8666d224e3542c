"""How fast do GPUs talk to each other: writes, reads, both directions at once, and with peer access off."""

import reframe as rfm

from nearfar import cells

from .base import node_check


@rfm.simple_test
class peer_check(node_check):
    """Every pair of GPUs of the node."""

    descr = "bandwidth between GPUs"
    valid_systems = ["+gpu"]
    program = "nearfar-copy"
    nothing_to_ask = "no GPU on this node"

    def cells(self, node):
        return cells.peer_matrix(node)

    def without_cells(self, node):
        return "one GPU: there is no pair to measure" if len(node.gpus) == 1 else ""
