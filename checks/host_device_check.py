"""How fast is every path between host memory and the GPUs: host to device, device to host, both at once."""

import reframe as rfm

from nearfar import cells

from .base import node_check


@rfm.simple_test
class host_device_check(node_check):
    """Every (NUMA node, GPU) pair of the node."""

    descr = "bandwidth between host memory and GPUs"
    valid_systems = ["+gpu"]
    program = "nearfar-copy"
    nothing_to_ask = "no GPU, or no host memory, on this node"

    def cells(self, node):
        return cells.host_device_matrix(node)
