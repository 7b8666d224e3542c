"""How does bandwidth grow with the size of a transfer: 1 KiB to 1 GiB, near and far, both directions, between GPUs."""

import reframe as rfm
from reframe.core.builtins import variable

from nearfar import cells

from .base import node_check


@rfm.simple_test
class size_sweep_check(node_check):
    """One path of each class; the largest size is judged, and the size of half the largest rate is told."""

    descr = "bandwidth over size"
    valid_systems = ["+gpu"]
    program = "nearfar-copy"
    nothing_to_ask = "no GPU, or no host memory, on this node"

    #: The sizes, as nearfar-copy takes them. A modelled node has its largest rate alone.
    #:
    #: :type: str
    #: :default: ``'1KiB..1GiB'``
    sizes = variable(str, value="1KiB..1GiB", loggable=True)

    def cells(self, node):
        return cells.size_sweep(node)

    def program_options(self):
        return ["--sizes", self.sizes]
