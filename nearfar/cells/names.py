"""The names that cells have where a name must be a word of ``[A-Za-z0-9_.]``: ReFrame's metrics, columns of tables.

ReFrame keeps what follows the last ``:`` of a metric's name, so a raw cell in it would silently merge metrics.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nearfar.base import NearfarError

from .notation import Cell, CellError, Flow
from .parsing import parse

_OF = ".of."
_TOTAL = ".total"
#: What may follow a path class, after ``_``, where a figure is something else than a rate.
DERIVED = {
    "over_near": "ratio to the near path",
    "over_same_numa_node": "ratio to ranks on one NUMA node",
    "staged_over_direct": "ratio of the staged to the direct path",
    "fairness": "ratio of the smallest to the largest share",
    "slowest_task": "the slowest task",
    "mean_task": "the mean task",
    "fastest_task": "the fastest task",
    "task_over_fair": "ratio of the slowest task to its fair share",
    "half_bandwidth": "the size with half of the largest rate",
    "latency_copy": "latency of a tiny copy",
    "latency_chase": "latency of a load",
    "latency_launch": "latency of a launch",
    "smaller_size": "with smaller arrays than usual",
    "tail_p99": "time of the slowest in a hundred transfers",
    "tail_worst": "ratio of the slowest to the median transfer",
    "penalty": "the fraction that is lost beside other traffic",
    "over_alone": "ratio to what it does alone",
}
_CLASS = re.compile(r"[A-Za-z0-9_]+")


class MetricName(NamedTuple):
    """The parts of a metric's name. ``flow`` and ``total`` tell apart the figures of a cell with several flows."""

    path_class: str
    cell: Cell
    flow: Flow | None
    total: bool


def encode_cell(cell: Cell | Flow) -> str:
    """``n0:g0@n1/sm+g0:n0`` as ``n0_g0_at_n1.sm__g0_n0``."""
    return str(cell).replace("@", "_at_").replace(":", "_").replace("+", "__").replace("/", ".")


def decode_cell(encoded: str) -> Cell:
    """The cell that ``encode_cell`` made the word from."""
    cell = parse(encoded.replace("__", "+").replace("_at_", "@").replace("_", ":").replace(".", "/"))
    if encode_cell(cell) != encoded:
        raise NearfarError(f"'{encoded}' is not a cell's canonical name, which is '{encode_cell(cell)}'")
    return cell


def metric_name(path_class: str, cell: Cell, flow: Flow | None = None, total: bool = False) -> str:
    """The metric's name: ``off_socket.n0_g1``, ``near.n0_g0__g0_n0.of.g0_n0``, ``near.n0_g0__g0_n0.total``.

    ``path_class`` may also be that of a derived figure (``off_socket_over_near``); the cell is then the one whose rate
    is divided.
    """
    suffix = _TOTAL if total else _OF + encode_cell(flow) if flow is not None else ""
    return f"{path_class}.{encode_cell(cell)}{suffix}"


def split_class(path_class: str) -> tuple[str, str]:
    """``NV18_staged_over_direct`` as (``NV18``, ``staged_over_direct``); a plain class with an empty word."""
    for word in DERIVED:
        if path_class.endswith(f"_{word}"):
            return path_class[: -len(word) - 1], word
    return path_class, ""


def join_class(path_class: str, derived: str | None) -> str:
    """What ``split_class`` took apart."""
    return f"{path_class}_{derived}" if derived else path_class


def parse_metric_name(name: str) -> MetricName:
    """The parts of a name that ``metric_name`` made; anything else is an error."""
    path_class, _, rest = name.partition(".")
    total = rest.endswith(_TOTAL)
    if total:
        rest = rest[: -len(_TOTAL)]
    encoded, of, encoded_flow = rest.partition(_OF)
    try:
        if not _CLASS.fullmatch(path_class) or (total and of):
            raise NearfarError("expected CLASS.CELL, CLASS.CELL.of.FLOW or CLASS.CELL.total")
        cell = decode_cell(encoded)
        flow = decode_cell(encoded_flow) if of else None
        if flow is not None and not (flow.lone and flow.flows[0] in cell.flows):
            raise NearfarError(f"'{flow}' is not a flow of '{cell}'")
    except NearfarError as error:
        what = error.what if isinstance(error, CellError) else error
        raise NearfarError(f"metric '{name}': {what}") from error
    return MetricName(path_class, cell, flow.flows[0] if flow else None, total)
