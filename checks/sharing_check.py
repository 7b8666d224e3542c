"""What does a task get when several share each GPU: one to four tasks on every GPU, all GPUs at once."""

import reframe as rfm

from nearfar import cells
from nearfar.measurement import RATIO

from .base import node_check


@rfm.simple_test
class sharing_check(node_check):
    """The slowest, mean and fastest of all tasks, and each GPU's slowest task beside its fair share, 1/k."""

    descr = "bandwidth of tasks that share GPUs"
    valid_systems = ["+gpu"]
    program = "nearfar-copy"
    nothing_to_ask = "no GPU, or no host memory, on this node"

    def cells(self, node):
        return cells.sharing_ramps(node)

    def figures(self, document):
        """Totals, and what is known of the tasks; each GPU's rate is its tasks' sum."""
        return [m for m in super().figures(document) if m.flow is None or m.quantity == RATIO]
