"""Are the ranks of a node balanced that transfer, compute and wait for each other: as launched, and bound to their GPUs?"""

import reframe as rfm
from reframe.core.builtins import variable

from nearfar.mpi import load_balance

from .launched import launched_check


@rfm.simple_test
class load_balance_check(launched_check):
    """One rank a GPU in POP's saxpy pattern; the pack's own binding is at least as good as the launcher's."""

    descr = "load balance of one rank a GPU, by binding"
    # A site asks for it with the feature `ranks`; a machine that no file describes has it where an MPI is found. No waiting
    # is predicted.
    valid_systems = ["+gpu +ranks -modelled"]
    program = "nearfar-saxpy"
    document_file = "saxpy.json"
    nothing_to_ask = "no GPU on this node"

    #: Bindings to measure: ``default`` as launched, ``gpu``, and ``wrong`` to see what the farthest NUMA node costs.
    #:
    #: :type: str
    #: :default: ``'default,gpu'``
    bindings = variable(str, value="default,gpu", loggable=True)

    def cells(self, node):
        return [load_balance.subject(word) for word in self.bindings.split(",")] if len(node.gpus) > 1 else [], []

    def without_cells(self, node):
        return "one GPU: there is nothing to balance" if len(node.gpus) == 1 else ""

    @property
    def ranks(self):
        return len(self.expected.gpus)

    def options(self):
        return ["--binding", self.bindings]

    def quantities(self, subject):
        return load_balance.QUANTITIES

    def figures(self, document):
        return load_balance.figures(document)

    def findings(self, document):
        return load_balance.findings(document)
