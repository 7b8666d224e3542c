import reframe as rfm
from reframe.core.builtins import run_after, variable

from .base import named, node_check


@rfm.simple_test
class burn_check(node_check):
    """All GPUs at full load: exact products, with clocks, power and temperature each second."""

    question = named("burn_check")
    # A figure of so many seconds is no chance.
    looks_again = False

    #: Seconds of load.
    #:
    #: :type: int
    #: :default: ``60``
    sustain = variable(int, value=60, loggable=True)

    @run_after("init")
    def allow_for_the_load(self):
        self.program_limit += self.sustain

    def program_options(self):
        return ["--sustain", str(self.sustain), *super().program_options()]
