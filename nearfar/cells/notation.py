"""The notation of cells: endpoints, flows, cells and how they are printed; ``parsing`` reads them.

    cell = flow {'+' flow}      flow = endpoint ':' endpoint ['@' endpoint] {'/' option}

``docs/reference/notation.md`` is made from the tables here and from ``tests/vectors/cells.txt``, which pins the notation down for this
parser and the one in C++.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from nearfar.base import NearfarError

#: The STREAM kernels.
KERNELS = ("copy", "scale", "add", "triad")

#: The kernels that GPUs have beside them: two arrays read, one read, one written, and one written by the runtime's memset.
GPU_KERNELS = ("dot", "read", "write", "fill")

#: What a GPU computes in its own memory: matrix products, counted in GFLOP/s.
COMPUTE_KERNELS = ("gemm",)

#: How many of a NUMA node's cores run a STREAM flow, where not all of them.
CORE_SHARES = ("one", "half", "buttwo", "butone")

#: What may stand at either end of a flow.
ENDPOINTS = {
    "n": "host memory of a NUMA node, by the operating system's number",
    "g": "memory of a GPU, in PCI bus order over all the node's GPUs, visible or not",
    "c": "the cores of a NUMA node",
}
#: The kinds of flow, and who drives one without an ``@``.
FLOWS = {
    "host": "between host memory and a GPU; driven by a thread on the memory's own NUMA node, `@n1` names another",
    "peer": "between two GPUs; written by the source, or read by the destination if `@` names it",
    "local": "within a GPU's memory; driven by that GPU",
    "stream": "STREAM by the cores of a NUMA node on the memory of another or the same; takes no `@`",
    "gpu_stream": "STREAM by a GPU on the memory of its destination; takes no `@`",
    "compute": "matrix products by a GPU beside the copies of the same cell, in GFLOP/s; in no sum",
}


class CellOption(NamedTuple):
    """An option of a flow."""

    #: As written, without the slash: alternatives, of which a flow takes one.
    words: tuple[str, ...]
    #: The kinds of flow that take it.
    flows: tuple[str, ...]
    meaning: str


_COPIES = ("host", "peer", "local")
#: Every option, in the order of the canonical form.
OPTIONS = (
    CellOption(KERNELS, ("stream", "gpu_stream"), "the kernel, exactly one"),
    CellOption(
        GPU_KERNELS, ("gpu_stream",), "the kernel: two arrays read, one read, one written, one set by the runtime"
    ),
    CellOption(COMPUTE_KERNELS, ("compute",), "matrix products"),
    CellOption(
        CORE_SHARES,
        ("stream",),
        "one core of the NUMA node, every second one, all but the first two or one (default: all)",
    ),
    CellOption(("sm",), _COPIES, "moved by a kernel instead of a copy engine"),
    CellOption(("staged",), ("peer",), "through host memory, with peer access off; not with `/sm`"),
    CellOption(("pageable",), ("host",), "host memory that is not page-locked; not with `/sm`"),
    CellOption(("huge",), ("host",), "host memory in huge pages; not with `/pageable`"),
    CellOption(("xK",), _COPIES, "divided among K processes, K from 2 to 64"),
    CellOption(("threads",), _COPIES, "with `/xK`: among threads of one process"),
)


class CellError(NearfarError):
    """A cell that cannot be read. ``column`` is 1-based, ``what`` the complaint without its place."""

    def __init__(self, text: str, column: int, what: str) -> None:
        super().__init__(f"cell '{one_line(text)}', column {column}: {what}")
        self.text = text
        self.column = column
        self.what = what


@dataclass(frozen=True, order=True)
class Endpoint:
    """``n`` host memory of a NUMA node, ``g`` memory of a GPU, ``c`` the cores of a NUMA node; with its number."""

    kind: str
    index: int

    def __str__(self) -> str:
        """As written: ``n0``."""
        return f"{self.kind}{self.index}"


@dataclass(frozen=True)
class Flow:
    """One stream of bytes from ``source`` to ``destination``.

    ``driver`` is ``None`` for the default: a host flow's own NUMA node, the source of a flow from GPU to GPU. ``tasks`` is
    the K of ``/xK`` (1: not shared), ``cores`` one of ``CORE_SHARES`` (``None``: all). Two flows are equal when their canonical
    strings are.
    """

    source: Endpoint
    destination: Endpoint
    driver: Endpoint | None = None
    kernel: str | None = None
    cores: str | None = None
    sm: bool = False
    staged: bool = False
    pageable: bool = False
    huge: bool = False
    tasks: int = 1
    threads: bool = False

    def __post_init__(self) -> None:
        """Drop a driver that is the default, so that equal flows compare equal."""
        if self.driver == self.default_driver:
            object.__setattr__(self, "driver", None)

    def alone(self) -> Flow:
        """The same flow, not shared by tasks."""
        return replace(self, tasks=1, threads=False)

    @property
    def kind(self) -> str:
        """``host`` (copies between host memory and a GPU), ``peer`` (between two GPUs), ``local`` (within one GPU),
        ``stream`` (STREAM by the cores of a NUMA node), ``gpu_stream`` (by a GPU) or ``compute`` (``/gemm``: it moves no bytes that are
        counted)."""
        kinds = {self.source.kind, self.destination.kind}
        if "c" in kinds:
            return "stream"
        if self.kernel:
            return "compute" if self.kernel in COMPUTE_KERNELS else "gpu_stream"
        if kinds == {"g"}:
            return "local" if self.source == self.destination else "peer"
        return "host"

    @property
    def direction(self) -> str:
        """``h2d`` or ``d2h`` of a host flow, ``p2p`` between GPUs, ``d2d`` within one, the kernel's name of a STREAM flow."""
        if self.kind == "host":
            return "h2d" if self.source.kind == "n" else "d2h"
        return self.kernel or ("d2d" if self.kind == "local" else "p2p")

    @property
    def numa_node(self) -> int | None:
        """The NUMA node whose memory takes part; ``None`` where that is GPUs' alone."""
        return next((end.index for end in (self.source, self.destination) if end.kind == "n"), None)

    @property
    def gpus(self) -> tuple[int, ...]:
        """The GPUs that take part, each once, source first."""
        return tuple(dict.fromkeys(end.index for end in (self.source, self.destination) if end.kind == "g"))

    @property
    def default_driver(self) -> Endpoint | None:
        """Who drives without an ``@``; ``None`` for STREAM flows, which their source computes."""
        if self.kind in ("peer", "local"):
            return self.source
        if self.kernel or self.kind == "stream":
            return None
        return self.source if self.source.kind == "n" else self.destination

    @property
    def options(self) -> tuple[str, ...]:
        """The options as written, in canonical order."""
        flags = [name for name in ("sm", "staged", "pageable", "huge") if getattr(self, name)]
        kernel = [word for word in (self.kernel, self.cores) if word]
        shared = [f"x{self.tasks}"] if self.tasks > 1 else []
        return tuple(kernel + flags + shared + (["threads"] if self.threads else []))

    def __str__(self) -> str:
        """The canonical notation."""
        driver = f"@{self.driver}" if self.driver else ""
        return f"{self.source}:{self.destination}{driver}" + "".join(f"/{option}" for option in self.options)


@dataclass(frozen=True, eq=False)
class Cell:
    """Flows that run at the same time. Equal as sets of flows; the order is kept for printing."""

    flows: tuple[Flow, ...]

    def __eq__(self, other: object) -> bool:
        """Whether the other is a cell of the same flows, in any order."""
        return isinstance(other, Cell) and frozenset(self.flows) == frozenset(other.flows)

    def __hash__(self) -> int:
        """As equality: the order does not matter."""
        return hash(frozenset(self.flows))

    def __str__(self) -> str:
        """The canonical notation, flows in the order given."""
        return "+".join(map(str, self.flows))

    @property
    def lone(self) -> bool:
        """Whether this is a single flow."""
        return len(self.flows) == 1

    @property
    def gpus(self) -> tuple[int, ...]:
        """The GPUs that take part in any flow, each once, in their order."""
        return tuple(dict.fromkeys(gpu for flow in self.flows for gpu in flow.gpus))

    @property
    def copies_beside_kernels(self) -> bool:
        """Whether some of its flows are copies and others are not: STREAM, or what a GPU computes."""
        return len({flow.kind in ("stream", "gpu_stream", "compute") for flow in self.flows}) > 1

    def with_one_task(self) -> Cell:
        """The same flows, none of them shared by tasks."""
        return Cell(tuple(flow.alone() for flow in self.flows))


def pretty(cell: Cell | Flow) -> str:
    """The cell as people read it: ``n0→g0 + g0→n0 /x4``."""
    if isinstance(cell, Cell):
        return " + ".join(map(pretty, cell.flows))
    driver = [f"@{cell.driver}"] if cell.driver else []
    return " ".join([f"{cell.source}→{cell.destination}", *driver, *(f"/{option}" for option in cell.options)])


def one_line(text: str) -> str:
    """``text`` fit for a one-line message."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= 120 else shown[:117] + "..."
