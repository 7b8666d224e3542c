"""Checks whose program starts ranks itself, through the MPI's own launcher, on one node or on two."""

from reframe.core.backends import getlauncher
from reframe.core.builtins import run_after, run_before

from .node_check import node_check


class own_ranks_check(node_check):
    """ReFrame starts one process."""

    # It takes minutes, and has its own runs of each case.
    looks_again = False
    needs_known_node = True

    @property
    def two_nodes(self):
        """Whether the partition's jobs have a second node."""
        return "two_nodes" in self.partition.features

    @run_after("setup")
    def take_a_second_node(self):
        if self.two_nodes:
            self.num_tasks = 2
            self.num_tasks_per_node = 1

    @run_before("run")
    def start_ranks_itself(self):
        """The program asks the launcher, run for run."""
        self.job.launcher = getlauncher("local")()
