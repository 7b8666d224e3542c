"""NCCL's collectives: how nccl-tests are started, and what of it as variables."""

import os
import sys

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.builtins import variable

from .base import named, own_ranks_check


@rfm.simple_test
class nccl_check(own_ranks_check):
    """Every collective among all GPUs of the node, or of two nodes."""

    question = named("nccl_check")

    #: Runs of each test at most: two that agree within 2 % end it.
    #:
    #: :type: int
    #: :default: ``3``
    runs = variable(int, value=3, loggable=True)

    #: The tests, as ``all_reduce``; none means all six.
    #:
    #: :type: List[str]
    #: :default: ``[]``
    tests = variable(typ.List[str], value=[], loggable=True)

    #: NVLink's multicast (NVLS), which all users of a node's switches share, is used.
    #:
    #: :type: bool
    #: :default: ``False``, or what ``NCCL_NVLS_ENABLE`` of the site's environment says
    nvls = variable(bool, value=os.environ.get("NCCL_NVLS_ENABLE", "0") != "0", loggable=True)

    #: Seconds after which a run of a test is ended.
    #:
    #: :type: float
    #: :default: ``120.0``
    run_limit = variable(float, value=120.0, loggable=True)

    cell_limit = 120.0

    def cells(self, node):
        return self.question.cells(node, 2 if self.two_nodes else 1, tuple(self.tests), self.nvls)

    def command(self, cells):
        words = ["--cases", str(cells), "--runs", str(self.runs), "--limit", f"{self.run_limit:g}"]
        return [sys.executable, "-m", "nearfar.nccl.measuring", *words]
