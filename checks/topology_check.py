"""Is this the node that the site's file describes? GPUs, NUMA nodes, NICs, and links under load."""

import reframe as rfm

from nearfar import cells
from nearfar.site import topology_diff

from .base import node_check


@rfm.simple_test
class topology_check(node_check):
    """Drift, item by item; each GPU's link while it works."""

    descr = "the node against the site's file"
    program = "nearfar-copy"
    counts_gpus = True

    def cells(self, node):
        """One short cell for each GPU, so that its link is not asleep."""
        possible, left_out = cells.host_device_matrix(node)
        return topology_diff.loading_cells(node, possible), topology_diff.unloaded(possible, left_out)

    def program_options(self):
        return ["--budget", "1"]

    def figures(self, document):
        """None: a second of copying loads the links and measures nothing."""
        return []

    def findings(self, document):
        if self.partition.modelled:
            return []
        return topology_diff.findings(
            self.system, self.partition, self.node_type, self.expected, self.observed, document, self.acceptance
        )
