"""One figure of a document."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.cells import Cell, Flow, join_class

from .codes import HARDWARE_THROTTLES
from .document import Conditions, SampleStatistics

#: The quantity and unit of figures that are one rate over another.
RATIO = "ratio"
RATIO_UNIT = "1"
#: The quantity of what ``nearfar cost --programs`` finds of a site's program: its time under a scheme over that under the reference.
PROGRAM = "program.over_reference"
#: The quantity of the rates of single tasks (``/xK``).
TASK = "task"
#: The quantity and unit of the size at which a flow has half of its largest rate.
SIZE = "size"
SIZE_UNIT = "B"
#: The quantity of a high percentile of a path's single transfers.
TAIL = "tail"
#: The units of what a GPU computes.
COMPUTE_UNITS = ("GFLOP/s",)
#: Units of times, of which less is better.
TIME_UNITS = ("us", "ns", "ms", "s")
#: Quantities of derived figures.
MADE_OF_OTHERS = (RATIO, TASK, SIZE, TAIL)
#: Those of which a node may be accepted without a reference, and that have no history: they explain.
EXPLAINING = (RATIO, TAIL)
#: The rate of each GPU at full load (``burn_check``), whose answer is that every product was right: it is judged once a reference is tuned,
#: and a node may be accepted before.
SUSTAINED_RATE = "kernel.sustained.rate"


def program_subject(name: str) -> str:
    """``program/lammps``: the subject of a program of the site."""
    return f"program/{name}"


#: The basis of a figure that another tool measured: whether data arrived intact is that tool's to say.
OF_ANOTHER_TOOL = "foreign"


@dataclass(frozen=True, kw_only=True)
class BaseMetric(SampleStatistics, Conditions):
    """What every figure has, judged or not."""

    #: As ReFrame has it.
    name: str
    quantity: str
    #: What picks the reference: ``near``, ``off_socket``, ``NV18`` …; of what is no cell, what tells right placement from wrong.
    path_class: str
    #: What it is beside a measured rate (``over_near``, ``latency_copy``); empty for a rate.
    derived: str = ""
    #: At least 95 % for the value.
    interval: tuple[float, float] | None = None
    #: What the link can carry of payload, or the memory.
    ceiling: float | None = None

    @property
    def class_in_name(self) -> str:
        """The class as names and references have it: ``off_socket_over_near``."""
        return join_class(self.path_class, self.derived)


@dataclass(frozen=True, kw_only=True)
class Metric(BaseMetric):
    """One figure of a cell. ``value`` is the plateau where there is one, else the median."""

    value: float
    cell: Cell
    #: The flow of a cell of several that it belongs to; None for a lone cell and for the sum.
    flow: Flow | None = None
    #: Whether it is the sum of a cell of several flows.
    total: bool = False


@dataclass(frozen=True)
class GpuState:
    """A GPU while a figure was measured: the reasons why its clocks were held down, the clock of its multiprocessors (MHz),
    None where it is not known, and how many errors its memory had meanwhile."""

    throttle: tuple[str, ...] = ()
    clock: float | None = None
    corrected: int = 0
    uncorrected: int = 0

    @property
    def held_down(self) -> tuple[str, ...]:
        """The reasons of heat or of the power supply. The power limit (``sw_power_cap``) is where a matrix product runs."""
        return tuple(reason for reason in self.throttle if reason in HARDWARE_THROTTLES)

    @property
    def memory_errors(self) -> int:
        """Of either kind."""
        return self.corrected + self.uncorrected


@dataclass(frozen=True, kw_only=True)
class SubjectMetric(BaseMetric):
    """One figure of something that is no cell: an MPI benchmark, a kernel."""

    value: float
    #: The document's text.
    subject: str
    #: What a technician reads.
    words: str
    #: What is asked of it, as it stands behind the class in the name.
    question: str = ""
    #: Names of references that may speak of it, the most precise first; empty: its name alone.
    rows: tuple[str, ...] = ()
    #: Its ranks shared their cores with others.
    contended: bool = False
    #: The GPUs that compute it; empty: those that the subject names, of the model of the node's first GPU.
    gpus: tuple[int, ...] = ()
    #: How their clocks and memory were while it ran, where that is known of this figure.
    state: GpuState | None = None


#: Any figure that is judged.
AnyMetric = Metric | SubjectMetric
