"""One figure of a document."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.cells import Cell, Flow, join_class

from .codes import HARDWARE_THROTTLES

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
#: Quantities of derived figures: they explain, and the figures that they are derived from are judged.
MADE_OF_OTHERS = (RATIO, TASK, SIZE, TAIL)


def program_subject(name: str) -> str:
    """``program/lammps``: the subject of a program of the site."""
    return f"program/{name}"


@dataclass(frozen=True)
class Metric:
    """One figure of a document.

    ``flow`` is the flow of a cell of several that the figure belongs to, ``total`` whether it is their sum; a lone
    cell's figure has neither. ``value``, ``ci`` and ``ceiling`` are in ``unit``. ``derived`` is what it
    is beside a measured rate (``over_near``, ``latency_copy``; empty for a rate). ``beside`` and ``remeasured`` are the result's;
    ``samples`` are its ``n`` samples, ``least`` and ``most`` their extremes, where they are known; ``bytes`` is the size of a
    transfer. A derived figure has ``n`` and ``bytes`` of the one that it is made of, and no samples. ``value`` is the plateau where
    there is one, else the median; ``ci`` is its interval. ``basis`` is that of a modelled result.
    """

    name: str
    cell: Cell
    flow: Flow | None
    total: bool
    path_class: str
    value: float
    unit: str
    ci: tuple[float, float] | None
    converged: bool
    verified: bool | None
    ceiling: float | None
    limited_by: tuple[str, ...]
    quantity: str
    beside: tuple[Flow, ...] = ()
    remeasured: bool = False
    least: float | None = None
    most: float | None = None
    n: int | None = None
    samples: tuple[float, ...] = ()
    bytes: int | None = None
    derived: str = ""
    plateau: float | None = None
    median: float | None = None
    steadiness: float | None = None
    basis: str | None = None

    @property
    def class_in_name(self) -> str:
        """The class as names and rows have it: ``off_socket_over_near``."""
        return join_class(self.path_class, self.derived)


@dataclass(frozen=True)
class GpuState:
    """A GPU while a figure was measured: the reasons why its clocks were held down, the clock of its multiprocessors (MHz), its power
    (W) and temperature (°C), None where they are not known, and how many errors its memory had meanwhile."""

    throttle: tuple[str, ...] = ()
    clock: float | None = None
    power: float | None = None
    temperature: float | None = None
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


@dataclass(frozen=True)
class SubjectMetric:
    """One figure of something that is no cell: an MPI benchmark, a kernel.

    ``subject`` is the document's text, ``words`` what a technician reads, ``path_class`` what tells right placement from
    wrong; ``question`` what is asked of it, as it stands behind the class in the name; ``derived`` as of ``Metric``.
    ``rows`` are the references' rows that may speak of it, the most precise first (empty: its name alone). ``value``, ``ci``,
    ``ceiling``, ``least`` and ``most`` (the extremes of its ``n`` samples) are in ``unit``. ``contended``: its ranks shared their
    cores with others. ``gpus`` compute it (none: those that the subject names, of the node's first GPU's model). ``state``: how their
    clocks and memory were while it ran, where that is known of this figure.
    """

    name: str
    subject: str
    words: str
    path_class: str
    value: float
    unit: str
    quantity: str
    ci: tuple[float, float] | None = None
    converged: bool = True
    verified: bool | None = None
    ceiling: float | None = None
    limited_by: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    n: int | None = None
    bytes: int | None = None
    question: str = ""
    contended: bool = False
    derived: str = ""
    plateau: float | None = None
    median: float | None = None
    steadiness: float | None = None
    gpus: tuple[int, ...] = ()
    state: GpuState | None = None


#: Any figure that is judged.
AnyMetric = Metric | SubjectMetric
