"""Reading cells: one pass from left to right; an error points at the column of the first thing wrong."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError

from .notation import COMPUTE_KERNELS, CORE_SHARES, GPU_KERNELS, KERNELS, Cell, CellError, Endpoint, Flow, one_line

_MAX_TASKS = 64
_ENDPOINT = re.compile(r"[ngc][0-9]+")
_OPTION = re.compile(r"[A-Za-z0-9]+")

#: Which options a kind of flow takes besides /xK and /threads, and what to say of one that belongs to another kind.
_FITS = {"host": ("sm", "pageable", "huge"), "peer": ("sm", "staged"), "local": ("sm",)}
_BELONGS = {
    "staged": "/staged is for flows between GPUs",
    "pageable": "/pageable is for flows from or to host memory",
    "huge": "/huge is for flows from or to host memory",
}
#: What to say of an ``@`` that names another than the GPUs at a flow's ends.
_DRIVERS = {"peer": "'@' names one of the flow's two GPUs", "local": "'@' names the one GPU that the flow stays in"}
_EXCLUSIVE = (("sm", "staged"), ("sm", "pageable"), ("pageable", "huge"))


def parse(text: str) -> Cell:
    """The cell that ``text`` names; a ``CellError`` points at the first thing wrong."""
    return _Parser(text).cell()


def parsed(text: str) -> Cell | None:
    """The cell that a text is; None where it is none."""
    try:
        return parse(text)
    except CellError:
        return None


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
                raise NearfarError(f"{name}:{number}:{error.column}: cell '{one_line(line)}': {error.what}") from error
    return cells


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
                what += "a kernel runs once on a memory" if flow.kernel else "for two tasks use /x2"
                raise self.fail(start, what)
            flows.append(flow)
            if self.at == len(self.text):
                return Cell(tuple(flows))
            if not self.take("+"):
                rest = one_line(self.text[self.at])
                raise self.fail(self.at, f"unexpected '{rest}': after a flow comes '/', '+' or nothing")

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
        match = _ENDPOINT.match(self.text, self.at)
        if not match:
            raise self.fail(self.at, "expected an endpoint (n, g or c and a number)")
        kind, digits = match.group()[0], match.group()[1:]
        if len(digits) > 4:
            raise self.fail(self.at, "an endpoint's number has at most 4 digits")
        if digits != "0" and digits.startswith("0"):
            raise self.fail(self.at, "an endpoint's number has no leading zero")
        self.at = match.end()
        return Endpoint(kind, int(digits))

    def driver(self, flow: Flow) -> Endpoint | None:
        at = self.at
        if not self.take("@"):
            return None
        if flow.kind == "stream":
            raise self.fail(at, "a STREAM flow takes no '@': its source computes")
        start = self.at
        driver = self.endpoint()
        if flow.kind == "host" and driver.kind != "n":
            raise self.fail(start, "'@' names the NUMA node that drives (n and a number)")
        if flow.kind in _DRIVERS and driver not in (flow.source, flow.destination):
            raise self.fail(start, _DRIVERS[flow.kind])
        return driver

    def options(self, flow: Flow, driver: Endpoint | None) -> Flow:
        chosen: dict[str, Any] = {}
        threads_at = 0
        while self.take("/"):
            start = self.at
            name, value = self.option(flow if "kernel" not in chosen else replace(flow, kernel=chosen["kernel"]))
            if name == "kernel" and name in chosen:
                raise self.fail(start, "a STREAM flow has exactly one kernel")
            if name == "kernel" and (driver or chosen.keys() - {"cores"}):
                raise self.fail(start, "a STREAM flow takes only a kernel, no '@' and no other option")
            if name in chosen:
                written = {"tasks": "/xK", "cores": "the number of cores"}.get(name, f"/{name}")
                raise self.fail(start, f"{written} is given twice")
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
        match = _OPTION.match(self.text, start)
        if not match:
            raise self.fail(start, "expected an option after '/'")
        word = match.group()
        self.at = match.end()
        is_tasks = re.fullmatch(r"x[0-9]+", word) is not None
        if is_tasks:
            digits = word[1:]
            if digits.startswith("0") or len(digits) > 2 or not 2 <= int(digits) <= _MAX_TASKS:
                raise self.fail(start, f"the K of /xK is 2 to {_MAX_TASKS}")
        elif word not in ("sm", "threads", *_BELONGS, *KERNELS, *GPU_KERNELS, *COMPUTE_KERNELS, *CORE_SHARES):
            raise self.fail(start, f"unknown option '{one_line(word)}'")
        if word in COMPUTE_KERNELS and (flow.source.kind != "g" or flow.source != flow.destination):
            raise self.fail(start, f"/{word} is computed by one GPU in its own memory (g0:g0/{word})")
        if word in (*KERNELS, *GPU_KERNELS, *COMPUTE_KERNELS):
            if flow.source.kind == "n":
                what = f"/{word} is computed by its source, cores (c0:n0/{word}) or a GPU (g0:n0/{word})"
                raise self.fail(start, what)
            if flow.kind == "stream" and word in GPU_KERNELS:
                raise self.fail(start, f"/{word} is a kernel of GPUs; cores have /copy, /scale, /add and /triad")
            if word == "fill" and flow.source != flow.destination:
                raise self.fail(start, "/fill is for a GPU's own memory (g0:g0/fill)")
            return "kernel", word
        if word in CORE_SHARES:
            if flow.kind != "stream":
                raise self.fail(start, f"/{word} is for STREAM by cores (c0:n0/triad/{word})")
            return "cores", word
        if flow.kind in ("stream", "gpu_stream", "compute"):
            raise self.fail(start, f"a STREAM flow takes only a kernel, not /{word}")
        if is_tasks:
            return "tasks", int(word[1:])
        if word != "threads" and word not in _FITS[flow.kind]:
            raise self.fail(start, _BELONGS[word])
        return word, True


def _wrong_pair(source: Endpoint, destination: Endpoint) -> str | None:
    """What is wrong with a flow between these endpoints, if anything."""
    pair = source.kind + destination.kind
    if pair in ("ng", "gn", "cn", "gg"):
        return None
    if pair == "nn":
        return "host memory to host memory is no flow: c0:n1/copy measures cores against memory"
    return "cores take part only as the source of c0:n0/triad"
