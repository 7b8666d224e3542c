"""MPI between two nodes: how one rank on each of them is launched."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import variable

from nearfar.base import NearfarError
from nearfar.binding import launchers
from nearfar.mpi.osu import hosts, installed

from ..base import launched_check, named


@rfm.simple_test
class ping_pong_check(launched_check):
    """One rank on each of two nodes, on the network that MPI takes; its figures never bear OSU's names."""

    question = named("ping_pong_check")

    unbound = True
    document_file = "contention.json"
    cell_limit = 12.0
    ranks = 2
    ranks_per_node = 1

    #: Rounds at most; six give intervals of 95 %.
    #:
    #: :type: int
    #: :default: ``9``
    rounds = variable(int, value=9, loggable=True)

    #: Seconds of each measurement.
    #:
    #: :type: float
    #: :default: ``0.2``
    window = variable(float, value=0.2, loggable=True)

    def launch_here(self):
        """The launcher of the MPI that the program was built with, told which nodes the job has."""
        nodes = hosts.of_job()
        if len(nodes) < 2:
            raise NearfarError(f"the job has one node, {nodes[0]}: there is no second one to talk to")
        return launchers.command(installed.mpi_of(Path(self.programs.folder, self.question.program)), 2, nodes[:2])

    def command(self, cells):
        if self.programs.container is not None:
            problem = f"the environment '{self.current_environ.name}' is a container"
            raise NearfarError(f"{problem}, and ranks on two nodes need the nodes' own MPI: give the partition another")
        options = ["--mpi-only", "--rounds", str(self.rounds), "--window", f"{self.window:g}"]
        return [str(Path(self.programs.folder, self.question.program)), f"--json={self.document_file}", *options]
