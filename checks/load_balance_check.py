"""Load balance of one rank a GPU: how its ranks are launched, and the bindings as a variable."""

import reframe as rfm
from reframe.core.builtins import variable

from .base import launched_check, named


@rfm.simple_test
class load_balance_check(launched_check):
    """One rank a GPU in POP's saxpy pattern; the pack's own binding is at least as good as the launcher's."""

    question = named("load_balance_check")

    document_file = "saxpy.json"

    #: Bindings to measure: ``default`` as launched, ``gpu``, and ``wrong`` to see what the farthest NUMA node costs.
    #:
    #: :type: str
    #: :default: ``'default,gpu'``
    bindings = variable(str, value="default,gpu", loggable=True)

    #: Seconds for each binding, after which no further round begins.
    #:
    #: :type: float
    #: :default: ``2.0``
    budget = variable(float, value=2.0, loggable=True)

    def cells(self, node):
        return self.question.cells(node, bindings=self.bindings)

    @property
    def ranks(self):
        return len(self.expected.gpus)

    def options(self):
        bindings = [subject.partition("/")[2] for subject in self.asked]
        budget = self.budget * len(bindings)
        return [*self.question.options, "--binding", ",".join(bindings), "--budget", f"{budget:g}"]
