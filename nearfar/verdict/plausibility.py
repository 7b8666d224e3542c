"""What no figure of its kind can be: one table for the judge, the tuning, a node's history and lint. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nearfar.base import plural
from nearfar.cells import CellError, Flow, parse
from nearfar.measurement import COMPUTE_UNITS, RATIO, AnyMetric, SubjectMetric
from nearfar.model.prediction import link_ceiling
from nearfar.topology import Gpu, Node

from . import thresholds

#: Of a rate: anything above nothing.
_SOMETHING = math.ulp(0.0)

_IN_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_IN_GB = {"MB/s": 1e-3, "GB/s": 1.0}
_SHARES = ("fairness", "load_balance", "communication_efficiency", "parallel_efficiency")
_MPI = re.compile(r"osu_\w+/(?P<source>[DH])-(?P<sink>[DH])/[a-z_]+(?:/x(?P<ranks>\d+))?")
_MPI_ALONE = re.compile(r"\w+\.mpi_only\.(?P<pairs>\d+)\.")


@dataclass(frozen=True)
class Limits:
    """From the least to the most that a figure can be, in its unit; ``of`` says of what."""

    least: float
    most: float
    of: str


def fault(metric: AnyMetric, node: Node | None = None) -> str | None:
    """What is wrong with the size of a figure, as the end of a sentence about it; None where it can be. ``node`` is the one
    measured, whose links and CPUs may say more."""
    if isinstance(metric, SubjectMetric):
        limits = _of_kind(metric.quantity, metric.unit, metric.subject, None, metric.name, node)
    else:
        flow = None if metric.flow is None else str(metric.flow)
        limits = _of_kind(metric.quantity, metric.unit, str(metric.cell), flow, metric.class_in_name, node)
    return None if limits is None else _words(metric.value, metric.unit, limits)


def row_fault(row: Mapping[str, Any]) -> str | None:
    """The same of a row of the history (its ``value``, ``quantity``, ``unit``, ``cell``, ``flow``, ``class``, ``metric`` and
    ``ceiling``), whatever the judge of its day knew."""
    value, unit, ceiling = float(row["value"]), str(row["unit"]), row.get("ceiling")
    if not math.isfinite(value):
        return "no figure"
    if ceiling is not None and value > float(ceiling) * (1 + thresholds.ABOVE_LINK):
        return f"above what its link can carry, {float(ceiling):.4g} {unit}"
    subject = str(row["cell"])
    path_class = str(row.get("class") or "") if _flows(subject, None) else str(row.get("metric") or "")
    limits = _known(str(row.get("quantity") or ""), unit, subject, row.get("flow"), path_class)
    return None if limits is None else _words(value, unit, limits)


def _words(value: float, unit: str, limits: Limits) -> str | None:
    if limits.least <= value <= limits.most:
        return None
    unit = "" if unit == "1" else f" {unit}"
    if value <= 0:
        return "nothing, which is not a valid figure"
    if value > limits.most:
        return f"more than {limits.of} can be, {limits.most:.4g}{unit}"
    return f"less than {limits.of} can be, {limits.least:.4g}{unit}"


@lru_cache(maxsize=10_000)
def _known(quantity: str, unit: str, subject: str, flow: str | None, path_class: str) -> Limits | None:
    return _of_kind(quantity, unit, subject, flow, path_class, None)


def _of_kind(
    quantity: str, unit: str, subject: str, flow: str | None, path_class: str, node: Node | None
) -> Limits | None:
    if unit in _IN_US:
        return _of_time(quantity, _IN_US[unit])
    if unit in _IN_GB:
        most, of = _of_rate(quantity, subject, flow, path_class, node)
        return Limits(_SOMETHING, most / _IN_GB[unit], of)
    if unit == "Mmsg/s":
        pairs = _pairs(subject)
        return Limits(
            _SOMETHING, thresholds.MOST_MESSAGES * pairs, f"a rate of messages of {plural(pairs, 'pair')} of ranks"
        )
    if unit in COMPUTE_UNITS:
        return Limits(_SOMETHING, thresholds.MOST_COMPUTE, "a GPU's compute")
    if unit == "B":
        return Limits(1.0, thresholds.MOST_SIZE, "a size of transfer")
    return _of_part(quantity, path_class) if unit == "1" else None


def _of_time(quantity: str, factor: float) -> Limits:
    if quantity in thresholds.LEAST_TIME:
        words = {"copy": "a tiny copy", "chase": "a load", "launch": "a launch"}[quantity.partition(".")[2]]
        return Limits(
            thresholds.LEAST_TIME[quantity] / factor, thresholds.MOST_SMALL_TIME / factor, f"the time of {words}"
        )
    return Limits(thresholds.LEAST_OTHER_TIME / factor, thresholds.MOST_TIME / factor, "the time of a transfer")


def _of_part(quantity: str, name: str) -> Limits:
    if "penalty" in name:
        return Limits(*thresholds.PENALTIES, "a penalty")
    if name.endswith("tail_worst"):
        return Limits(1.0, thresholds.MOST_WORST, "a ratio of the slowest to the median transfer")
    if name.endswith(_SHARES) or quantity.endswith(_SHARES):
        return Limits(0.0, thresholds.MOST_SHARE, "a share of a whole")
    return Limits(0.0, thresholds.MOST_RATIO, "a ratio of two paths")


def _of_rate(quantity: str, subject: str, flow: str | None, path_class: str, node: Node | None) -> tuple[float, str]:
    """The most GB/s, and of what."""
    if quantity.startswith("saxpy.") or subject.startswith("saxpy/"):
        return _of_saxpy(path_class if quantity == RATIO else quantity, node)
    if quantity.startswith(("mpi.", "contention.mpi.")):
        return _of_mpi(quantity, subject)
    flows = [each for each in _flows(subject, flow) if each.kind != "compute"]  # it is no part of a rate of bytes
    if not flows:
        return thresholds.MOST_RATE, "a rate of anything"
    if quantity == "task":  # one of several that share a flow
        return max((_of_flow(each, path_class, node) for each in flows), key=lambda most: most[0])
    streams = [each for each in flows if each.kind == "stream"]
    each = [_of_flow(one, path_class, node) for one in flows if one.kind != "stream"]
    if streams:
        each.append(_of_memory(streams, node))
    kinds = sorted({of for _, of in each})
    return sum(most for most, _ in each), f"{plural(len(flows), 'flow')} together" if len(each) > 1 else kinds[0]


def _of_memory(flows: Iterable[Flow], node: Node | None) -> tuple[float, str]:
    """STREAM: each memory once, however many cores ask it; no more than its cores can ask for."""
    flows = list(flows)
    memories = {flow.destination.index for flow in flows}
    most, of = thresholds.MOST_OF_NUMA_NODE * len(memories), f"the memory of {plural(len(memories), 'NUMA node')}"
    asking = [None if node is None else node.numa_node(flow.source.index) for flow in flows]
    cpus = sum(len(numa.cpus) for numa in asking if numa is not None)
    known = all(numa is not None and numa.cpus for numa in asking)
    if known and thresholds.MOST_OF_CORE * cpus < most:
        return thresholds.MOST_OF_CORE * cpus, f"what {plural(cpus, 'CPU')} can draw"
    return most, of


def _of_flow(flow: Flow, path_class: str, node: Node | None) -> tuple[float, str]:
    gpus = [gpu for index in flow.gpus if node is not None and (gpu := node.gpu(index)) is not None]
    gpus = gpus if len(gpus) == len(flow.gpus) else []
    if flow.kind == "local":
        return thresholds.MOST_OF_GPU_MEMORY, "the memory of a GPU"
    if flow.kind == "gpu_stream":
        near = flow.destination == flow.source
        if flow.numa_node is not None:
            ways = [_of_link(gpus[0] if gpus else None, way) for way in ("h2d", "d2h")]
            return sum(most for most, _ in ways), f"{ways[0][1]}, both directions,"
        return (
            (thresholds.MOST_OF_GPU_MEMORY, "the memory of a GPU")
            if near
            else (thresholds.MOST_OF_PEERS, "what a GPU reads and writes outside")
        )
    if flow.kind == "host":
        return _of_link(gpus[0] if gpus else None, str(flow.direction))
    if flow.staged:
        ends = [_of_link(gpu, way) for gpu, way in zip(gpus, ("d2h", "h2d"))]
        most = min([thresholds.MOST_STAGED, *(most for most, _ in ends)])
        return most, "a path through host memory"
    joined = path_class if node is None or not gpus else node.peers.get((min(flow.gpus), max(flow.gpus)), path_class)
    lanes = re.match(r"NV(\d+)", joined)
    if lanes:
        return min(
            thresholds.MOST_OF_PEERS, thresholds.MOST_OF_LANE * int(lanes[1])
        ), f"{plural(int(lanes[1]), 'NVLink lane')}"
    if re.match(r"(PIX|PXB|PHB|NODE|SYS)", joined):
        return thresholds.MOST_OF_HOST_LINK["pcie"], "a path over PCIe"
    return thresholds.MOST_OF_PEERS, "a path between two GPUs"


def _of_link(gpu: Gpu | None, way: str) -> tuple[float, str]:
    """A GPU's link to the host: what it can carry where device and slot say so, else the best of its kind."""
    of = "a GPU's link to the host"
    if gpu is None or (gpu.link.kind == "pcie" and gpu.link.max_gen is None and gpu.link.gen is None):
        return max(thresholds.MOST_OF_HOST_LINK.values()), of  # the kind of a link of which nothing is known is a guess
    most = thresholds.MOST_OF_HOST_LINK.get(gpu.link.kind, max(thresholds.MOST_OF_HOST_LINK.values()))
    known = link_ceiling(gpu.link, way) if gpu.link.max_gen and gpu.link.max_width else None
    return (most if known is None else min(most, known * thresholds.LINK_ROOM)), of


def _of_saxpy(what: str, node: Node | None) -> tuple[float, str]:
    if ".host." in what:
        return thresholds.MOST_OF_NUMA_NODE, "the memory of 1 NUMA node"
    if not re.search(r"\b(h2d|d2h)$", what):
        return thresholds.MOST_OF_GPU_MEMORY, "the memory of a GPU"
    gpus = () if node is None else node.gpus
    return max([_of_link(gpu, what[-3:]) for gpu in gpus] or [_of_link(None, what[-3:])])


def _of_mpi(quantity: str, subject: str) -> tuple[float, str]:
    found, pairs = _MPI.match(subject), _pairs(subject)
    buffers = set() if found is None else {found["source"], found["sink"]}
    one = (
        thresholds.MOST_OF_PEERS
        if buffers == {"D"}
        else max(thresholds.MOST_OF_HOST_LINK.values())
        if "D" in buffers
        else thresholds.MOST_OF_RANKS
    )
    ways = 2 if quantity.endswith("bibandwidth") else 1
    return one * pairs * ways, f"messages of {plural(pairs, 'pair')} of ranks"


def _pairs(subject: str) -> int:
    found, alone = _MPI.match(subject), _MPI_ALONE.match(subject)
    if found is not None:
        return max(1, int(found["ranks"] or 2) // 2)
    return max(1, int(alone["pairs"])) if alone is not None else 1


@lru_cache(maxsize=10_000)
def _flows(subject: str, flow: str | None) -> tuple[Flow, ...]:
    """The flows whose sum a figure is; none for a subject that is no cell."""
    try:
        return parse(flow or subject).flows
    except CellError:
        return ()
