"""How much do all GPUs carry at once: 1, 2, ... GPUs, spread over packages, packed on one, and across the package link."""

import reframe as rfm

from nearfar import cells

from .base import node_check


@rfm.simple_test
class saturation_check(node_check):
    """Host to device, device to host and both, of more and more GPUs at the same time."""

    descr = "bandwidth of all GPUs with host memory at once"
    valid_systems = ["+gpu"]
    program = "nearfar-copy"
    nothing_to_ask = "no GPU, or no host memory, on this node"

    def cells(self, node):
        return cells.saturation_ramps(node)

    def figures(self, document):
        """Totals and fairness of every step; each GPU's share where all GPUs of a ramp take part."""
        whole = cells.whole_loads(self.expected)
        return [m for m in super().figures(document) if m.flow is None or m.cell in whole]
