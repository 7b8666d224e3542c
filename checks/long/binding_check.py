"""The site's own programs under binding schemes: which they are, by the partition's `programs`, and how they are started."""

import json
import sys
from pathlib import Path

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_before

from nearfar.base import write_atomically

from ..base import named, node_check

#: Seconds of a program that names no budget.
BUDGET = 900.0


@rfm.simple_test
class binding_check(node_check):
    """What a wrong binding costs each program of the partition; `nearfar cost` starts their ranks itself."""

    question = named("binding_check")

    looks_again = False
    needs_known_node = True

    @run_before("run")
    def start_ranks_itself(self):
        self.job.launcher = getlauncher("local")()

    def cells(self, node):
        programs = self.partition.programs
        # What starts and ends beside the runs: launchers, and a run that the budget ends.
        self.cell_limit = max((float(program.get("budget", BUDGET)) for program in programs), default=0.0) + 60
        return self.question.cells(node, tuple(program["name"] for program in programs))

    def command(self, cells):
        programs = Path(self.stagedir, "programs.json")
        write_atomically(programs, json.dumps([dict(program) for program in self.partition.programs]))
        return [sys.executable, "-m", "nearfar", "cost", "--programs", str(programs)]
