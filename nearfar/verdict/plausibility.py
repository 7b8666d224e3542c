"""What no figure of its kind can be: one table for the judge, the tuning, a node's history and lint. Pure.

The limits are no expectations. They lie a few times above the best machine that is known (for times, below), so that the
next generations fit, and what lies beyond is a fault of the measurement: bytes that were not moved, a unit, a clock.
"""

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

#: A rate above what its link can carry by more than this part is no rounding: bytes that were not moved, or another link.
ABOVE_LINK = 0.02

# Rates, GB/s.
#: Memory of one NUMA node, by cores. The most that cores draw: about 1000 of a Xeon Max, 1750 of an MI300C; the stacks
#: of an MI300A have 5300, which its cores cannot ask for.
OF_NUMA_NODE = 5_000.0
#: The same by one core, beyond any cache: about 20 on x86, 50 on A64FX, 100 on an M1.
OF_CORE = 150.0
#: A GPU's link to the host, in one direction, by kind. PCIe 7 ×16: 242. NVLink 2 of POWER9: 77. NVLink-C2C: 450, of Rubin 900.
OF_HOST_LINK = {"pcie": 500.0, "nvlink": 500.0, "c2c": 2_000.0}
#: Between GPUs through host memory: two crossings of the link and a buffer between. About 38 over PCIe 5.
STAGED = 1_000.0
#: Between two GPUs directly, whatever joins them; NVLink by lane (25 of generation 4, 50 of 5); over PCIe as to the host.
#: NVLink 6 has 1800 in all.
OF_PEERS, OF_LANE = 5_000.0, 200.0
#: A GPU's own memory. 4800 of an H200, 8000 of a B200, 22,000 of Rubin.
OF_GPU_MEMORY = 60_000.0
#: Between two MPI ranks in host memory: what one core copies within its cache, about 120.
OF_RANKS = 500.0
#: Whatever the kind.
OF_ANYTHING = 100_000.0
#: Messages of one pair of ranks, millions a second: tens.
MESSAGES = 500.0
#: What a GPU computes, GFLOP/s: 2.2 million in bf16 on a B200; ten times that.
OF_COMPUTE = 2e7
#: A link's ceiling assumes the size of its packets; what is only compared with links has this much room.
_ROOM = 1.25

# Times, us.
#: The least: a copy of a few bytes by a copy engine takes about 5, a load from a GPU over C2C 0.5, a launch 2; MPI within a
#: cache 0.1.
LEAST_TIME = {"latency.copy": 0.5, "latency.chase": 0.05, "latency.launch": 0.2}
LEAST_OF_ANYTHING = 0.02
#: The most: what takes a tenth of a second is no transfer of a few bytes; nothing else takes a hundred.
MOST_OF_SMALL, MOST_OF_ANYTHING = 1e5, 1e8

# Others.
#: Greater than any ratio between two paths.
OF_RATIO = 20.0
#: A share of a whole is at most 1.
OF_SHARE = 1.02
#: What a figure loses beside others: all of a rate; a time may grow a thousandfold. What it gains is no multiple.
OF_PENALTY = (-OF_RATIO, 10_000.0)
#: The slowest of many transfers over the median one: of 20 us, one that stood for two seconds.
OF_WORST = 1e5
#: Bytes at which half of the largest rate is reached.
OF_SIZE = float(1 << 40)

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

    def hold(self, value: float) -> bool:
        """Whether a value is within."""
        return self.least <= value <= self.most


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
    if ceiling is not None and value > float(ceiling) * (1 + ABOVE_LINK):
        return f"above what its link can carry, {float(ceiling):.4g} {unit}"
    subject = str(row["cell"])
    path_class = str(row.get("class") or "") if _flows(subject, None) else str(row.get("metric") or "")
    limits = _known(str(row.get("quantity") or ""), unit, subject, row.get("flow"), path_class)
    return None if limits is None else _words(value, unit, limits)


def _words(value: float, unit: str, limits: Limits) -> str | None:
    if limits.hold(value):
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
    """None for units of which nothing is known."""
    if unit in _IN_US:
        return _of_time(quantity, _IN_US[unit])
    if unit in _IN_GB:
        most, of = _of_rate(quantity, subject, flow, path_class, node)
        return Limits(_SOMETHING, most / _IN_GB[unit], of)
    if unit == "Mmsg/s":
        pairs = _pairs(subject)
        return Limits(_SOMETHING, MESSAGES * pairs, f"a rate of messages of {plural(pairs, 'pair')} of ranks")
    if unit in COMPUTE_UNITS:
        return Limits(_SOMETHING, OF_COMPUTE, "a GPU's compute")
    if unit == "B":
        return Limits(1.0, OF_SIZE, "a size of transfer")
    return _of_part(quantity, path_class) if unit == "1" else None


def _of_time(quantity: str, factor: float) -> Limits:
    if quantity in LEAST_TIME:
        words = {"copy": "a tiny copy", "chase": "a load", "launch": "a launch"}[quantity.partition(".")[2]]
        return Limits(LEAST_TIME[quantity] / factor, MOST_OF_SMALL / factor, f"the time of {words}")
    return Limits(LEAST_OF_ANYTHING / factor, MOST_OF_ANYTHING / factor, "the time of a transfer")


def _of_part(quantity: str, name: str) -> Limits:
    if "penalty" in name:
        return Limits(*OF_PENALTY, "a penalty")
    if name.endswith("tail_worst"):
        return Limits(1.0, OF_WORST, "a ratio of the slowest to the median transfer")
    if name.endswith(_SHARES) or quantity.endswith(_SHARES):
        return Limits(0.0, OF_SHARE, "a share of a whole")
    return Limits(0.0, OF_RATIO, "a ratio of two paths")


def _of_rate(quantity: str, subject: str, flow: str | None, path_class: str, node: Node | None) -> tuple[float, str]:
    """The most GB/s, and of what."""
    if quantity.startswith("saxpy.") or subject.startswith("saxpy/"):
        return _of_saxpy(path_class if quantity == RATIO else quantity, node)
    if quantity.startswith(("mpi.", "contention.mpi.")):
        return _of_mpi(quantity, subject)
    flows = [each for each in _flows(subject, flow) if each.kind != "compute"]  # it is no part of a rate of bytes
    if not flows:
        return OF_ANYTHING, "a rate of anything"
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
    most, of = OF_NUMA_NODE * len(memories), f"the memory of {plural(len(memories), 'NUMA node')}"
    asking = [None if node is None else node.numa_node(flow.source.index) for flow in flows]
    cpus = sum(len(numa.cpus) for numa in asking if numa is not None)
    known = all(numa is not None and numa.cpus for numa in asking)
    if known and OF_CORE * cpus < most:
        return OF_CORE * cpus, f"what {plural(cpus, 'CPU')} can draw"
    return most, of


def _of_flow(flow: Flow, path_class: str, node: Node | None) -> tuple[float, str]:
    """One flow that a GPU takes part in."""
    gpus = [gpu for index in flow.gpus if node is not None and (gpu := node.gpu(index)) is not None]
    gpus = gpus if len(gpus) == len(flow.gpus) else []
    if flow.kind == "local":
        return OF_GPU_MEMORY, "the memory of a GPU"
    if flow.kind == "gpu_stream":
        near = flow.destination == flow.source
        if flow.numa_node is not None:
            ways = [_of_link(gpus[0] if gpus else None, way) for way in ("h2d", "d2h")]
            return sum(most for most, _ in ways), f"{ways[0][1]}, both directions,"
        return (OF_GPU_MEMORY, "the memory of a GPU") if near else (OF_PEERS, "what a GPU reads and writes outside")
    if flow.kind == "host":
        return _of_link(gpus[0] if gpus else None, str(flow.direction))
    if flow.staged:
        ends = [_of_link(gpu, way) for gpu, way in zip(gpus, ("d2h", "h2d"))]
        most = min([STAGED, *(most for most, _ in ends)])
        return most, "a path through host memory"
    joined = path_class if node is None or not gpus else node.peers.get((min(flow.gpus), max(flow.gpus)), path_class)
    lanes = re.match(r"NV(\d+)", joined)
    if lanes:
        return min(OF_PEERS, OF_LANE * int(lanes[1])), f"{plural(int(lanes[1]), 'NVLink lane')}"
    if re.match(r"(PIX|PXB|PHB|NODE|SYS)", joined):
        return OF_HOST_LINK["pcie"], "a path over PCIe"
    return OF_PEERS, "a path between two GPUs"


def _of_link(gpu: Gpu | None, way: str) -> tuple[float, str]:
    """A GPU's link to the host: what it can carry where device and slot say so, else the best of its kind."""
    of = "a GPU's link to the host"
    if gpu is None or (gpu.link.kind == "pcie" and gpu.link.max_gen is None and gpu.link.gen is None):
        return max(OF_HOST_LINK.values()), of  # the kind of a link of which nothing is known is a guess
    most = OF_HOST_LINK.get(gpu.link.kind, max(OF_HOST_LINK.values()))
    known = link_ceiling(gpu.link, way) if gpu.link.max_gen and gpu.link.max_width else None
    return (most if known is None else min(most, known * _ROOM)), of


def _of_saxpy(what: str, node: Node | None) -> tuple[float, str]:
    if ".host." in what:
        return OF_NUMA_NODE, "the memory of 1 NUMA node"
    if not re.search(r"\b(h2d|d2h)$", what):
        return OF_GPU_MEMORY, "the memory of a GPU"
    gpus = () if node is None else node.gpus
    return max([_of_link(gpu, what[-3:]) for gpu in gpus] or [_of_link(None, what[-3:])])


def _of_mpi(quantity: str, subject: str) -> tuple[float, str]:
    found, pairs = _MPI.match(subject), _pairs(subject)
    buffers = set() if found is None else {found["source"], found["sink"]}
    one = OF_PEERS if buffers == {"D"} else max(OF_HOST_LINK.values()) if "D" in buffers else OF_RANKS
    ways = 2 if quantity.endswith("bibandwidth") else 1
    return one * pairs * ways, f"messages of {plural(pairs, 'pair')} of ranks"


def _pairs(subject: str) -> int:
    """Pairs of ranks of an MPI subject."""
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
