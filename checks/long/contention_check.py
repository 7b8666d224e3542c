"""MPI beside GPU transfers, in ranks of their own: how many ranks."""

import reframe as rfm
from reframe.core.builtins import variable

from nearfar.mpi import contention

from ..base import contending_check, named


@rfm.simple_test
class contention_check(contending_check):
    """A pair of ranks for each task, and pairs on all cores that are left."""

    question = named("contention_check")

    #: Pairs on all cores too, beside a pair for each task.
    #:
    #: :type: bool
    #: :default: ``True``
    fill = variable(bool, value=True, loggable=True)

    @property
    def ranks(self):
        return contention.ranks(self.expected, len(self.expected.gpus), self.fill)

    def cells(self, node):
        return self.question.cells(node, fill=self.fill)
