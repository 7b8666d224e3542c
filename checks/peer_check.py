"""How fast do GPUs talk to each other: pairs, each way and both, with peer access off; one with all, pairs side by side."""

import reframe as rfm

from nearfar import cells

from .base import node_check


@rfm.simple_test
class peer_check(node_check):
    """Every pair of GPUs of the node, and many at once."""

    descr = "bandwidth between GPUs"
    valid_systems = ["+gpu"]
    program = "nearfar-copy"
    nothing_to_ask = "no GPU on this node"

    def cells(self, node):
        (pairs, left_out), (many, left_too) = cells.peer_matrix(node), cells.exchanges(node)
        return [*pairs, *many], [*left_out, *left_too]

    def figures(self, document):
        """All but the single shares of one to all and all to one: these stay in the document."""
        return [m for m in super().figures(document) if m.flow is None or not cells.divided_by_the_fabric(m.cell)]

    def without_cells(self, node):
        return "one GPU: there is no pair to measure" if len(node.gpus) == 1 else ""
