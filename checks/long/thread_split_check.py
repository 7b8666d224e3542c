"""MPI and GPU threads of one rank, together and split: how many ranks."""

import reframe  # noqa: F401  (ReFrame looks into files that import it)

from ..base import asks
from ..contending import contending_check


@asks
class thread_split_check(contending_check):
    """An MPI thread and the GPU's in one rank: both beside the GPU, or the MPI thread on the other package."""

    window = 0.1

    @property
    def ranks(self):
        return 2 * len(self.expected.gpus)

    def options(self):
        return [*super().options(), "--layout", "together,split"]
