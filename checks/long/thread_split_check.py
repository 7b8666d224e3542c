"""MPI and GPU threads of one rank, together and split: how many ranks."""

import reframe as rfm

from ..base import contending_check, named


@rfm.simple_test
class thread_split_check(contending_check):
    """An MPI thread and the GPU's in one rank: both beside the GPU, or the MPI thread on the other package."""

    question = named("thread_split_check")

    window = 0.1

    @property
    def ranks(self):
        return 2 * len(self.expected.gpus)

    def options(self):
        return [*super().options(), "--layout", "together,split"]
