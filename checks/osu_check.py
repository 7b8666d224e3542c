"""MPI in every placement: how `nearfar osu` is started, and what of OSU's benchmarks as variables."""

import sys

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from nearfar.base import NearfarError
from nearfar.mpi import as_root
from nearfar.mpi.osu import bindings, disturbances
from nearfar.question import messages

from .base import named, own_ranks_check


@rfm.simple_test
class osu_check(own_ranks_check):
    """Host buffers within the node, device buffers of every GPU, and between two nodes through every NIC."""

    question = named("osu_check")

    #: Runs of each benchmark at most, each with OSU's own repetitions: two that agree within 2 % end it. An interval needs
    #: six, and then all are run.
    #:
    #: :type: int
    #: :default: ``3``
    runs = variable(int, value=3, loggable=True)

    #: Iterations of each message size; 0 leaves them to OSU, within ``run_budget``.
    #:
    #: :type: int
    #: :default: ``0``
    iterations = variable(int, value=0, loggable=True)

    #: Ranks of the benchmarks of many; 0 takes what fits on the cores of every NUMA node, 16 at most.
    #:
    #: :type: int
    #: :default: ``0``
    ranks = variable(int, value=0, loggable=True)

    #: The benchmarks; none means all seven.
    #:
    #: :type: List[str]
    #: :default: ``[]``
    benchmarks = variable(typ.List[str], value=[], loggable=True)

    #: Seconds that one run of a benchmark should take at most: where OSU's repetitions take longer, they are fewer. 0: never.
    #:
    #: :type: float
    #: :default: ``3.0``
    run_budget = variable(float, value=3.0, loggable=True)

    #: Seconds after which a run of a benchmark is ended.
    #:
    #: :type: float
    #: :default: ``120.0``
    run_limit = variable(float, value=120.0, loggable=True)

    cell_limit = 90.0

    def cells(self, node):
        nodes = 2 if self.two_nodes else 1
        return self.question.cells(node, nodes=nodes, benchmarks=self.benchmarks, ranks=self.ranks or None)

    def command(self, cells):
        if self.programs.container is not None:
            problem = f"the environment '{self.current_environ.name}' is a container, and OSU needs the node's own MPI"
            raise NearfarError(f"{problem}: give osu_check's partition an environment with modules, a prefix or Spack")
        command = [sys.executable, "-m", "nearfar", "osu", "--cases", str(cells), "--json", "--runs", str(self.runs)]
        command += ["--limit", f"{self.run_limit:g}", "--budget", f"{self.run_budget:g}"]
        command += ["--iterations", str(self.iterations)] if self.iterations else []
        # Asked for, device buffers that cannot be had are INDETERMINATE; else a remark.
        return command + (["--device-buffers"] if "cuda_mpi" in self.partition.features else [])

    def findings(self, document):
        between = any(case.nic for case in self.asked)
        message = messages.NO_NIC if self.two_nodes else messages.ONE_NODE
        return [
            *bindings.findings(document, self.expected),
            *disturbances.findings(document),
            *as_root.notes(document),
            *([] if between else [message.finding("nodes")]),
        ]
