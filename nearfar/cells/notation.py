"""The notation of cells: parsing, canonical printing, errors that point at the column.

    cell = flow {'+' flow}      flow = endpoint ':' endpoint ['@' endpoint] {'/' option}

``docs/reference/notation.md`` explains it; ``tests/vectors/cells.txt`` pins it down for this parser and the one in C++.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError

#: The STREAM kernels, in canonical order.
KERNELS = ("copy", "scale", "add", "triad")

_MAX_TASKS = 64
_ENDPOINT = re.compile(r"[ngc][0-9]+")
_OPTION = re.compile(r"[A-Za-z0-9]+")


class CellError(NearfarError):
    """A cell that cannot be read. ``column`` is 1-based, ``what`` the complaint without its place."""

    def __init__(self, text: str, column: int, what: str) -> None:
        super().__init__(f"cell '{_one_line(text)}', column {column}: {what}")
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

    ``driver`` is ``None`` for the default: a host flow's own NUMA node, the source of a flow between GPUs. ``tasks`` is
    the K of ``/xK`` (1: not shared). Two flows are equal when their canonical strings are.
    """

    source: Endpoint
    destination: Endpoint
    driver: Endpoint | None = None
    kernel: str | None = None
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

    @property
    def kind(self) -> str:
        """``host`` (between host memory and a GPU), ``peer`` (between GPUs) or ``stream`` (cores and memory)."""
        kinds = {self.source.kind, self.destination.kind}
        return "peer" if kinds == {"g"} else "stream" if "c" in kinds else "host"

    @property
    def direction(self) -> str:
        """``h2d`` or ``d2h`` of a host flow, ``p2p`` between GPUs, the kernel's name of a STREAM flow."""
        if self.kind == "host":
            return "h2d" if self.source.kind == "n" else "d2h"
        return self.kernel or "p2p"

    @property
    def numa_node(self) -> int | None:
        """The NUMA node whose memory takes part; ``None`` between GPUs."""
        return next((end.index for end in (self.source, self.destination) if end.kind == "n"), None)

    @property
    def gpus(self) -> tuple[int, ...]:
        """The GPUs that take part, source first."""
        return tuple(end.index for end in (self.source, self.destination) if end.kind == "g")

    @property
    def default_driver(self) -> Endpoint | None:
        """Who drives without an ``@``; ``None`` for STREAM flows, whose cores are their source."""
        if self.kind == "peer":
            return self.source
        if self.kind == "stream":
            return None
        return self.source if self.source.kind == "n" else self.destination

    @property
    def options(self) -> tuple[str, ...]:
        """The options as written, in canonical order."""
        flags = [name for name in ("sm", "staged", "pageable", "huge") if getattr(self, name)]
        kernel = [self.kernel] if self.kernel else []
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


def parse(text: str) -> Cell:
    """The cell that ``text`` names; a ``CellError`` points at the first thing wrong."""
    return _Parser(text).cell()


def parse_lines(source: str | Path) -> list[Cell]:
    """The cells of a file, one a line (``-``: standard input); empty lines and ``#`` lines are left out.

    Errors name ``file:line:column``.
    """
    name = "<standard input>" if str(source) == "-" else str(source)
    try:
        text = sys.stdin.read() if str(source) == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise NearfarError(f"{name}: cannot read cells: {reason}") from error
    cells = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.rstrip("\r")
        if line and not line.startswith("#"):
            try:
                cells.append(parse(line))
            except CellError as error:
                raise NearfarError(f"{name}:{number}:{error.column}: cell '{_one_line(line)}': {error.what}") from error
    return cells


def pretty(cell: Cell | Flow) -> str:
    """The cell as people read it: ``n0→g0 + g0→n0 /x4``."""
    if isinstance(cell, Cell):
        return " + ".join(map(pretty, cell.flows))
    driver = [f"@{cell.driver}"] if cell.driver else []
    return " ".join([f"{cell.source}→{cell.destination}", *driver, *(f"/{option}" for option in cell.options)])


def _one_line(text: str) -> str:
    """``text`` fit for a one-line message."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= 120 else shown[:117] + "..."


#: Which options a kind of flow takes besides /xK and /threads, and what to say of one that belongs to another kind.
_FITS = {"host": ("sm", "pageable", "huge"), "peer": ("sm", "staged")}
_BELONGS = {
    "staged": "/staged is for flows between GPUs",
    "pageable": "/pageable is for flows from or to host memory",
    "huge": "/huge is for flows from or to host memory",
    **{kernel: f"/{kernel} is a STREAM kernel: write c0:n0/{kernel}" for kernel in KERNELS},
}
_EXCLUSIVE = (("sm", "staged"), ("sm", "pageable"), ("pageable", "huge"))


@dataclass
class _Parser:
    """One pass from left to right; ``at`` is the 0-based position of the next character."""

    text: str
    at: int = field(default=0)

    def fail(self, position: int, what: str) -> CellError:
        return CellError(self.text, position + 1, what)

    def take(self, char: str) -> bool:
        if self.text.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def cell(self) -> Cell:
        flows: list[Flow] = []
        while True:
            start = self.at
            flow = self.flow()
            if flow in flows:
                what = f"flow '{flow}' occurs twice: "
                what += "each pair of cores and memory runs once" if flow.kind == "stream" else "for two tasks use /x2"
                raise self.fail(start, what)
            flows.append(flow)
            if self.at == len(self.text):
                return Cell(tuple(flows))
            if not self.take("+"):
                found = _one_line(self.text[self.at])
                raise self.fail(self.at, f"unexpected '{found}': after a flow comes '/', '+' or nothing")

    def flow(self) -> Flow:
        start = self.at
        source = self.endpoint()
        if not self.take(":"):
            raise self.fail(self.at, f"expected ':' after {source}")
        destination = self.endpoint()
        complaint = _wrong_pair(source, destination)
        if complaint:
            raise self.fail(start, complaint)
        flow = Flow(source, destination)
        return self.options(flow, self.driver(flow))

    def endpoint(self) -> Endpoint:
        found = _ENDPOINT.match(self.text, self.at)
        if not found:
            raise self.fail(self.at, "expected an endpoint (n, g or c and a number)")
        kind, digits = found.group()[0], found.group()[1:]
        if len(digits) > 4:
            raise self.fail(self.at, "an endpoint's number has at most 4 digits")
        if digits != "0" and digits.startswith("0"):
            raise self.fail(self.at, "an endpoint's number has no leading zero")
        self.at = found.end()
        return Endpoint(kind, int(digits))

    def driver(self, flow: Flow) -> Endpoint | None:
        at = self.at
        if not self.take("@"):
            return None
        if flow.kind == "stream":
            raise self.fail(at, "a STREAM flow takes no '@': its cores are its source")
        start = self.at
        driver = self.endpoint()
        if flow.kind == "host" and driver.kind != "n":
            raise self.fail(start, "'@' names the NUMA node that drives (n and a number)")
        if flow.kind == "peer" and driver not in (flow.source, flow.destination):
            raise self.fail(start, "'@' names one of the flow's two GPUs")
        return driver

    def options(self, flow: Flow, driver: Endpoint | None) -> Flow:
        chosen: dict[str, Any] = {}
        threads_at = 0
        while self.take("/"):
            start = self.at
            name, value = self.option(flow)
            if name == "kernel" and name in chosen:
                raise self.fail(start, "a STREAM flow has exactly one kernel")
            if name in chosen:
                raise self.fail(start, f"{'/xK' if name == 'tasks' else '/' + name} is given twice")
            for pair in _EXCLUSIVE:
                if name in pair and (pair[0] in chosen or pair[1] in chosen):
                    raise self.fail(start, f"/{pair[0]} and /{pair[1]} exclude each other")
            if name == "threads":
                threads_at = start
            chosen[name] = value
        if flow.kind == "stream" and "kernel" not in chosen:
            raise self.fail(self.at, "expected a STREAM kernel: /copy, /scale, /add or /triad")
        if "threads" in chosen and "tasks" not in chosen:
            raise self.fail(threads_at, "/threads needs /xK: how many tasks")
        return Flow(flow.source, flow.destination, driver, **chosen)

    def option(self, flow: Flow) -> tuple[str, str | int | bool]:
        """The next option as a field of ``Flow`` and its value."""
        start = self.at
        found = _OPTION.match(self.text, start)
        if not found:
            raise self.fail(start, "expected an option after '/'")
        word = found.group()
        self.at = found.end()
        is_tasks = re.fullmatch(r"x[0-9]+", word) is not None
        if is_tasks:
            digits = word[1:]
            if digits.startswith("0") or len(digits) > 2 or not 2 <= int(digits) <= _MAX_TASKS:
                raise self.fail(start, f"the K of /xK is 2 to {_MAX_TASKS}")
        elif word not in ("sm", "threads", *_BELONGS):
            raise self.fail(start, f"unknown option '{_one_line(word)}'")
        if flow.kind == "stream":
            if word not in KERNELS:
                raise self.fail(start, f"a STREAM flow takes only a kernel, not /{word}")
            return "kernel", word
        if is_tasks:
            return "tasks", int(word[1:])
        if word != "threads" and word not in _FITS[flow.kind]:
            raise self.fail(start, _BELONGS[word])
        return word, True


def _wrong_pair(source: Endpoint, destination: Endpoint) -> str | None:
    """What is wrong with a flow between these endpoints, if anything."""
    pair = source.kind + destination.kind
    if pair in ("ng", "gn", "cn") or (pair == "gg" and source != destination):
        return None
    if pair == "gg":
        return "a flow between GPUs needs two different GPUs"
    if pair == "nn":
        return "host memory to host memory is no flow: c0:n1/copy measures cores against memory"
    return "cores take part only as the source of c0:n0/triad"
