"""What do MPI and the GPUs' transfers cost each other, as ranks of their own and as threads of one rank?"""

import reframe as rfm
from reframe.core.builtins import variable

from nearfar.mpi import contention

from ..launched import launched_check


class _contention(launched_check):
    """MPI within the node beside copies of every GPU in both directions."""

    program = "nearfar-contention"
    nothing_to_ask = "no GPU on this node"
    unbound = True
    document_file = "contention.json"
    cell_limit = 12.0

    #: Rounds at most; six give intervals of 95 %.
    #:
    #: :type: int
    #: :default: ``6``
    rounds = variable(int, value=6, loggable=True)

    #: Seconds of each measurement.
    #:
    #: :type: float
    #: :default: ``0.15``
    window = variable(float, value=0.15, loggable=True)

    def options(self):
        words = ["--tasks", str(len(self.expected.gpus)), "--rounds", str(self.rounds)]
        return [*words, "--window", f"{self.window:g}"]

    def without_cells(self, node):
        """Each direction of a GPU's copies and each side of a pair has a core of its own."""
        return f"{contention.cores(node)} cores are too few for MPI beside {len(node.gpus)} GPUs" if node.gpus else ""

    def quantities(self, subject):
        return contention.quantities(subject)

    def figures(self, document):
        return contention.figures(document)

    def findings(self, document):
        return contention.findings(document)


@rfm.simple_test
class contention_check(_contention):
    """A pair of ranks for each task, and pairs on all cores that are left."""

    descr = "MPI beside GPU transfers, in ranks of their own"
    valid_systems = ["+gpu +ranks -modelled"]

    #: Pairs on all cores too, beside a pair for each task.
    #:
    #: :type: bool
    #: :default: ``True``
    fill = variable(bool, value=True, loggable=True)

    @property
    def ranks(self):
        return contention.ranks(self.expected, len(self.expected.gpus), self.fill)

    def cells(self, node):
        movers = len(node.gpus)
        pairs = (contention.ranks(node, movers, self.fill) - movers) // 2
        words = ["per_task"] if movers and pairs >= movers else []
        if pairs > movers > 0:
            words.append("all_cores")
        elif 0 < pairs < movers:
            words.append("pairs")
        return contention.subjects(words, [movers]), []


@rfm.simple_test
class thread_split_check(_contention):
    """An MPI thread and the GPU's in one rank: both beside the GPU, or the MPI thread on the other package."""

    descr = "MPI and GPU threads of one rank, together and split"
    valid_systems = ["+gpu +ranks -modelled"]
    window = 0.1

    @property
    def ranks(self):
        return 2 * len(self.expected.gpus)

    def options(self):
        return [*super().options(), "--layout", "together,split"]

    def cells(self, node):
        movers = len(node.gpus)
        if contention.cores(node) < 4 * movers:
            return [], []
        words = ["together", "split"] if len(node.packages) > 1 else ["together"]
        return contention.subjects(words, range(1, movers + 1)), []
