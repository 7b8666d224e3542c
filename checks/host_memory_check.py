"""How fast is host memory: STREAM from the cores of each NUMA node to the memory of each, and all nodes at once."""

import reframe as rfm

from nearfar import cells

from .base import node_check


@rfm.simple_test
class host_memory_check(node_check):
    """Every (cores, memory) pair of NUMA nodes."""

    descr = "bandwidth of host memory (STREAM triad)"
    # A modelled node takes part where its memory capacities are known (feature `memory`).
    valid_systems = ["-modelled", "+modelled +memory"]
    program = "nearfar-stream"
    nothing_to_ask = "no host memory that this process may use"

    def cells(self, node):
        return cells.stream_matrix(node), cells.stream_left_out(node)
