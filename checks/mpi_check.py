"""MPI between ranks of the node, by binding: how the ranks of all pairs are launched together, and take part pair after pair."""

import os
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import variable

from nearfar.binding import launchers
from nearfar.mpi import numa_pairs
from nearfar.mpi.osu import installed

from .base import launched_check, named


@rfm.simple_test
class mpi_check(launched_check):
    """Two ranks for each pair of NUMA nodes, on a core each."""

    question = named("mpi_check")

    # The program binds each rank before MPI starts.
    unbound = True
    document_file = "pairs.json"
    cell_limit = 12.0

    #: Rounds at most; six give intervals of 95 %.
    #:
    #: :type: int
    #: :default: ``9``
    rounds = variable(int, value=9, loggable=True)

    #: Seconds of each measurement.
    #:
    #: :type: float
    #: :default: ``0.03``
    window = variable(float, value=0.03, loggable=True)

    @property
    def pairs(self):
        """The pairs of NUMA nodes that are asked for."""
        return list(dict.fromkeys(numa_pairs.subject(subject).pair for subject in self.asked))

    @property
    def ranks(self):
        return 2 * len(self.pairs)

    def launch_here(self):
        """The launcher of the MPI that the program was built with: ranks may be more than its slots, since few take part at a time."""
        if self.programs.container is not None:
            return super().launch_here()
        path = os.pathsep.join([*self.programs.path, os.environ.get("PATH", "")])
        program = Path(self.programs.folder, self.question.program)
        return launchers.command(installed.mpi_of(program, {**os.environ, "PATH": path}), self.ranks)

    def options(self):
        between = ",".join(pair.option for pair in self.pairs)
        return ["--between", between, "--rounds", str(self.rounds), "--window", f"{self.window:g}"]

    def findings(self, document):
        return [*super().findings(document), *numa_pairs.findings(document, self.expected)]
