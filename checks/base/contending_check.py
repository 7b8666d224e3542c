"""Checks of MPI within the node beside copies of every GPU in both directions: how ``nearfar-contention`` is started."""

from reframe.core.builtins import variable

from .launched_check import launched_check


class contending_check(launched_check):
    """A check says how many ranks (``ranks``)."""

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
        argv = ["--tasks", str(len(self.expected.gpus)), "--rounds", str(self.rounds)]
        return [*argv, "--window", f"{self.window:g}"]
