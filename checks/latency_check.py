"""How long does the smallest transfer take: a tiny copy, a load by a kernel, a launch, on every path."""

import reframe as rfm

from nearfar import cells
from nearfar.site.lint import LATENCIES

from .base import node_check


@rfm.simple_test
class latency_check(node_check):
    """Three latencies, never mixed, of every (NUMA node, GPU) and every ordered pair of GPUs."""

    descr = "latencies between host memory and GPUs and between GPUs"
    # No latency is predicted.
    valid_systems = ["+gpu -modelled"]
    program = "nearfar-copy"
    nothing_to_ask = "no GPU, or no host memory, on this node"

    def cells(self, node):
        return cells.latency_cells(node)

    def quantities(self, subject):
        return LATENCIES

    def program_options(self):
        return ["--latency"]
