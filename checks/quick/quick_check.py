"""Is every path as fast as it should be, in a few seconds: each one way, pairs of GPUs side by side."""

import reframe as rfm

from nearfar import cells

from ..base import node_check


@rfm.simple_test
class quick_check(node_check):
    """Every (NUMA node, GPU) pair and every ordered pair of GPUs; a doubtful figure is measured again alone."""

    descr = "a quick look at every path"
    valid_systems = ["+gpu"]
    program = "nearfar-copy"
    counts_gpus = True
    nothing_to_ask = "no GPU on this node"

    def cells(self, node):
        return cells.single_paths(node)

    def program_options(self):
        return ["--quick"]

    def judged_as(self, metric):
        """The same paths are measured at length by the checks whose references these are."""
        return "peer_check" if metric.cell.flows[0].kind == "peer" else "host_device_check"
