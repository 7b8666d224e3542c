"""What no figure of its kind can be: one table for the judge, the tuning, a node's history and lint. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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
_SHARE = "a share of a whole"
_SHARES = ("fairness", "load_balance", "communication_efficiency", "parallel_efficiency")
_MPI = re.compile(r"osu_\w+/(?P<source>[DH])-(?P<sink>[DH])/[a-z_]+(?:/x(?P<ranks>\d+))?")
#: The size of its message at the end of a figure's name.
_SIZE = re.compile(r"\.(\d+)(?:([KMG])i)?B$")
_MPI_ALONE = re.compile(r"\w+\.mpi_only\.(?P<pairs>\d+)\.")


@dataclass(frozen=True)
class Limits:
    """From the least to the most that a figure can be, in its unit; ``of`` says of what."""

    least: float
    most: float
    of: str


#: GB/s · What a healthy node's memory carries, of a NUMA node's cores and of a GPU.
HOST_MEMORY = Limits(thresholds.LEAST_OF_NUMA_NODE, thresholds.MOST_OF_NUMA_NODE, "the memory of 1 NUMA node")
GPU_MEMORY = Limits(thresholds.LEAST_OF_GPU_MEMORY, thresholds.MOST_OF_GPU_MEMORY, "the memory of a GPU")


def fault(metric: AnyMetric, node: Node | None = None) -> str | None:
    """What is wrong with the size of a figure, as the end of a sentence about it; None where it can be. ``node`` is the one
    measured, whose links and CPUs may say more."""
    limits = _limits(metric, node)
    return None if limits is None else excess(metric.value, metric.unit, limits)


def healthy_limits(metric: AnyMetric) -> Limits | None:
    """What a reference, the value of a healthy figure, can be on any node: narrower where only a broken one has such a figure."""
    limits = _limits(metric, None)
    if limits is None:
        return None
    if limits.of == _SHARE:
        return replace(limits, most=1.0)
    if metric.unit in _IN_US and (metric.quantity in thresholds.LEAST_TIME or metric.name.endswith(".8B")):
        return replace(limits, most=thresholds.MOST_HEALTHY_TIME / _IN_US[metric.unit])
    if isinstance(metric, SubjectMetric) or metric.unit != "GB/s" or metric.derived:
        return limits
    flows = metric.cell.flows if metric.flow is None else (metric.flow,)
    if all(flow.kind == "stream" for flow in flows):
        return replace(limits, least=HOST_MEMORY.least)
    if all(flow.kind == "gpu_stream" and flow.source == flow.destination for flow in flows):
        return replace(limits, least=GPU_MEMORY.least * len(flows))
    return limits


def _limits(metric: AnyMetric, node: Node | None) -> Limits | None:
    if isinstance(metric, SubjectMetric):
        return _of_kind(metric.unit, metric.name, metric.quantity, metric.subject, None, node)
    flow = None if metric.flow is None else str(metric.flow)
    return _of_kind(metric.unit, metric.class_in_name, metric.quantity, str(metric.cell), flow, node)


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
    limits = of_kind(unit, path_class, str(row.get("quantity") or ""), subject, row.get("flow"))
    return None if limits is None else excess(value, unit, limits)


def excess(value: float, unit: str, limits: Limits) -> str | None:
    """How a value lies beyond its limits, as the end of a sentence about it; None where it does not."""
    if limits.least <= value <= limits.most:
        return None
    unit = "" if unit == "1" else f" {unit}"
    if value <= 0:
        return "nothing, which is not a valid figure"
    if value > limits.most:
        return f"more than {limits.of} can be, {_short(limits.most)}{unit}"
    return f"less than {limits.of} can be, {_short(limits.least)}{unit}"


def _short(value: float) -> str:
    return f"{value:.4g}" if value < 10_000 or value >= 1e6 else f"{value:.0f}"


@lru_cache(maxsize=10_000)
def of_kind(unit: str, name: str, quantity: str = "", subject: str = "", flow: str | None = None) -> Limits | None:
    """What a figure can be on any node. ``name``: its path class with what it is derived as, or all of its name."""
    return _of_kind(unit, name, quantity, subject, flow, None)


def _of_kind(
    unit: str, path_class: str, quantity: str, subject: str, flow: str | None, node: Node | None
) -> Limits | None:
    if unit in _IN_US:
        return _of_time(quantity, _IN_US[unit], path_class)
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


def _of_time(quantity: str, factor: float, name: str) -> Limits:
    if quantity in thresholds.LEAST_TIME:
        words = {"copy": "a tiny copy", "chase": "a load", "launch": "a launch"}[quantity.partition(".")[2]]
        return Limits(
            thresholds.LEAST_TIME[quantity] / factor, thresholds.MOST_SMALL_TIME / factor, f"the time of {words}"
        )
    size = _SIZE.search(name) if quantity.startswith("mpi.") else None
    least, of = thresholds.LEAST_OTHER_TIME, "the time of a transfer"
    if size is not None:
        fastest = int(size[1]) * 1024 ** " KMG".index(size[2] or " ") / 1000 / thresholds.MOST_OF_MESSAGES
        least, of = max(least, fastest), f"the time of a message of {size[1]} {size[2]}{'iB' if size[2] else 'B'}"
    return Limits(least / factor, thresholds.MOST_TIME / factor, of)


def _of_part(quantity: str, name: str) -> Limits:
    if "penalty" in name:
        return Limits(*thresholds.PENALTIES, "a penalty")
    if name.endswith("tail_worst"):
        return Limits(1.0, thresholds.MOST_WORST, "a ratio of the slowest to the median transfer")
    if name.endswith(_SHARES) or quantity.endswith(_SHARES):
        return Limits(0.0, thresholds.MOST_SHARE, _SHARE)
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
            most, of = _of_link(gpus[0] if gpus else None)
            return 2 * most, f"{of}, both directions,"
        return (
            (thresholds.MOST_OF_GPU_MEMORY, "the memory of a GPU")
            if near
            else (thresholds.MOST_OF_PEERS, "what a GPU reads and writes outside")
        )
    if flow.kind == "host":
        return _of_link(gpus[0] if gpus else None)
    if flow.staged:
        return min([thresholds.MOST_STAGED, *(_of_link(gpu)[0] for gpu in gpus)]), "a path through host memory"
    joined = path_class if node is None or not gpus else node.peer(*flow.gpus) or path_class
    lanes = re.match(r"NV(\d+)", joined)
    if lanes:
        return min(
            thresholds.MOST_OF_PEERS, thresholds.MOST_OF_LANE * int(lanes[1])
        ), f"{plural(int(lanes[1]), 'NVLink lane')}"
    if re.match(r"(PIX|PXB|PHB|NODE|SYS)", joined):
        return thresholds.MOST_OF_HOST_LINK["pcie"], "a path over PCIe"
    return thresholds.MOST_OF_PEERS, "a path between two GPUs"


def _of_link(gpu: Gpu | None) -> tuple[float, str]:
    """A GPU's link to the host: what it can carry where device and slot say so, else the best of its kind."""
    of = "a GPU's link to the host"
    if gpu is None or (gpu.link.kind == "pcie" and gpu.link.max_gen is None and gpu.link.gen is None):
        return max(thresholds.MOST_OF_HOST_LINK.values()), of  # the kind of a link of which nothing is known is a guess
    most = thresholds.MOST_OF_HOST_LINK.get(gpu.link.kind, max(thresholds.MOST_OF_HOST_LINK.values()))
    known = link_ceiling(gpu.link) if gpu.link.max_gen and gpu.link.max_width else None
    return (most if known is None else min(most, known * thresholds.LINK_ROOM)), of


def _of_saxpy(what: str, node: Node | None) -> tuple[float, str]:
    if ".host." in what:
        return thresholds.MOST_OF_NUMA_NODE, "the memory of 1 NUMA node"
    if not re.search(r"\b(h2d|d2h)$", what):
        return thresholds.MOST_OF_GPU_MEMORY, "the memory of a GPU"
    gpus = () if node is None else node.gpus
    return max([_of_link(gpu) for gpu in gpus] or [_of_link(None)])


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
