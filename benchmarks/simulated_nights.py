"""Nights of simulated nodes, as the programs' documents: what ``benchmarks/judged_faults.py`` gives the judge and the tune.

A node has one NUMA node with eight memory channels and four GPUs, each behind a bridge of its own, with NVLink between all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from nearfar import question
from nearfar.measurement import Document, Metric, document
from nearfar.topology import Gpu, Link, Node, NumaNode, Package, node_to_document

MODEL, GPUS = "NVIDIA H200", 4
#: Standard deviation from node to node, of each figure by itself.
BETWEEN = 0.005
#: Samples of a visit; visits of a lone copy with the host end when three reach the best within this.
SAMPLES, LEAST, MOST, AGREE = 6, 3, 8, 0.003


@dataclass(frozen=True)
class Noise:
    """Parts of a rate: ``night`` is the standard deviation from run to run, ``visit`` what a visit loses on average
    (exponentially, below a ceiling), ``sample`` the standard deviation within a visit."""

    night: float
    visit: float
    sample: float


#: By kind of host and of figure. Own: the quiet machines of benchmarks/studies/estimator.md. Shared: its traces of H100s (``x1``, ``x2``)
#: and the noisy H200. STREAM: five runs on two H200s.
NOISE: dict[str, dict[str, Noise]] = {
    "own": {
        "h2d": Noise(0.0002, 0.0003, 0.0003), "d2h": Noise(0.0002, 0.0003, 0.0003), "sum": Noise(0.001, 0.003, 0.002),
        "pair": Noise(0.0001, 0.0001, 0.0001), "stream": Noise(0.003, 0.005, 0.005),
    },
    "shared": {
        "h2d": Noise(0.001, 0.01, 0.003), "d2h": Noise(0.0005, 0.003, 0.001), "sum": Noise(0.008, 0.02, 0.01),
        "pair": Noise(0.0001, 0.0001, 0.0001), "stream": Noise(0.01, 0.02, 0.015),
    },
}  # fmt: skip


@dataclass(frozen=True)
class Path:
    """A cell: the check that asks for it, its kind of noise, what it has on a healthy node (GB/s, of all flows together)."""

    check: str
    cell: str
    kind: str
    rate: float


def _paths() -> list[Path]:
    gpus = range(GPUS)
    found = [Path("host_memory_check", "c0:n0/triad", "stream", 260.0)]
    for g in gpus:
        there, back = f"n0:g{g}", f"g{g}:n0"
        found += [Path("host_device_check", there, "h2d", 55.5), Path("host_device_check", back, "d2h", 55.35)]
        found.append(Path("host_device_check", f"{there}+{back}", "sum", 102.5))
    found += [Path("peer_check", f"g{a}:g{b}", "pair", 396.0) for a in gpus for b in gpus if a != b]
    found += [Path("peer_check", f"g{a}:g{b}+g{b}:g{a}", "pair", 781.0) for a in gpus for b in gpus if a < b]
    down, up = [f"n0:g{g}" for g in gpus], [f"g{g}:n0" for g in gpus]
    both = [flow for pair in zip(down, up) for flow in pair]
    for flows, rate in ((down, 220.0), (up, 219.0), (both, 250.0)):
        found.append(Path("saturation_check", "+".join(flows), "sum", rate))
    return found


PATHS = _paths()
#: Both directions of all GPUs: the memory limits it.
BY_MEMORY = PATHS[-1].cell
CHECKS = tuple(dict.fromkeys(path.check for path in PATHS))
NODE = Node(
    "n", (Package(0, tuple(range(32))),), (NumaNode(0, 0, tuple(range(32)), 1 << 38),),
    tuple(Gpu(g, f"0000:{g + 1}1:00.0", name=MODEL, numa_node=0, package=0, uplinks=(f"0000:0{g}:01.0",), link=Link("pcie", 5, 16, 5, 16))
          for g in range(GPUS)),
    peers={(a, b): "NV18" for a in range(GPUS) for b in range(a + 1, GPUS)},
)  # fmt: skip
#: What a fault leaves of a cell, and the share of the visits that have it.
Fault = Callable[[str], tuple[float, float]]


def _healthy(cell: str) -> tuple[float, float]:
    return 1.0, 0.0


def _lane(cell: str) -> tuple[float, float]:
    """One of eighteen lanes between GPUs 0 and 1."""
    return (17 / 18, 1.0) if cell in ("g0:g1", "g1:g0", "g0:g1+g1:g0") else (1.0, 0.0)


def _half_of_pcie(cell: str) -> tuple[float, float]:
    """The link of GPU 0, in both directions; flows beside it go on."""
    flows = cell.split("+")
    own = sum(flow in ("n0:g0", "g0:n0") for flow in flows)
    return (1.0, 0.0) if not own or cell == BY_MEMORY else (1 - 0.5 * own / len(flows), 1.0)


def _channel(cell: str) -> tuple[float, float]:
    """One of eight channels: STREAM, and the sum that the memory limits."""
    return (7 / 8, 1.0) if cell in ("c0:n0/triad", BY_MEMORY) else (1.0, 0.0)


def _copy_engine(cell: str) -> tuple[float, float]:
    """The engine of GPU 0 that copies from the host."""
    flows = cell.split("+")
    return (1.0, 0.0) if "n0:g0" not in flows or cell == BY_MEMORY else (1 - 0.03 / len(flows), 1.0)


def _now_and_then(cell: str) -> tuple[float, float]:
    """The link of GPU 0, in half of the visits."""
    return (0.944, 0.5) if cell in ("n0:g0", "g0:n0", "n0:g0+g0:n0") else (1.0, 0.0)


FAULTS: dict[str, Fault] = {
    "healthy": _healthy,
    "NVLink lane": _lane,
    "half of PCIe": _half_of_pcie,
    "memory channel": _channel,
    "copy engine -3 %": _copy_engine,
    "-5.6 % in half of the visits": _now_and_then,
}


class Night:
    """One run of one node: ``levels`` is what the node has of each cell, as a part of the fleet's."""

    def __init__(self, levels: Mapping[str, float], host: str, source: random.Random, fault: Fault = _healthy) -> None:
        self.host, self.source, self.fault = host, source, fault
        self.rates = {
            path.cell: path.rate * levels[path.cell] * (1 + source.gauss(0, NOISE[host][path.kind].night))
            for path in PATHS
        }

    def visits(self, path: Path) -> list[list[float]]:
        """The samples of each visit of a cell, GB/s."""
        noise, source, rate = NOISE[self.host][path.kind], self.source, self.rates[path.cell]
        left, share = self.fault(path.cell)
        lone = path.kind in ("h2d", "d2h")
        most = MOST if lone else 2 if path.kind == "pair" else 5
        found: list[list[float]] = []
        while len(found) < most:
            part = left if share >= 1 or source.random() < share else 1.0
            level = rate * part * (1 - source.expovariate(1 / noise.visit))
            found.append([level * (1 + source.gauss(0, noise.sample)) for _ in range(SAMPLES)])
            best = max(max(visit) for visit in found)
            if lone and sum(sorted(visit)[-2] >= best * (1 - AGREE) for visit in found) >= LEAST:
                break
        return found

    def document(self, check: str, cells: Collection[str] | None = None) -> Document:
        """What the program of a check prints; of some ``cells`` alone where they are named."""
        chosen = [path for path in PATHS if path.check == check and (cells is None or path.cell in cells)]
        return _document([_result(path, self.visits(path)) for path in chosen])

    def values(self) -> dict[str, float]:
        """Of each cell the plateau, as a document has it."""
        return {path.cell: plateau(sample for visit in self.visits(path) for sample in visit) for path in PATHS}


def levels(source: random.Random) -> dict[str, float]:
    """A healthy node of the fleet."""
    return {path.cell: 1 + source.gauss(0, BETWEEN) for path in PATHS}


def figures(check: str, document: Document) -> list[Metric]:
    """The figures of a document, as the check has them."""
    return [each for each in question.named(check).figures(document, NODE) if isinstance(each, Metric)]


def judged_rates(check: str, document: Document) -> list[Metric]:
    """Those of them that are rates, and judge their fact."""
    return [m for m in figures(check, document) if m.unit == "GB/s" and question.judged_elsewhere(check, m) is None]


def plateau(samples: Iterable[float]) -> float:
    """The 90th percentile, interpolated."""
    ranked = sorted(samples)
    at = 0.9 * (len(ranked) - 1)
    low = int(at)
    return ranked[low] + (at - low) * (ranked[min(low + 1, len(ranked) - 1)] - ranked[low])


def _result(path: Path, visits: list[list[float]]) -> dict[str, Any]:
    samples = [sample for visit in visits for sample in visit]
    whole, middle, flows = plateau(samples), median(samples), path.cell.split("+")
    total = {
        **_rate(samples), "plateau": whole, "interval": [whole * 0.998, whole * 1.002], "steadiness": min(1.0, middle / whole),
    }  # fmt: skip
    lone = len(flows) == 1
    shares = [{**total, "samples": samples}] if lone else [_rate([each / len(flows) for each in samples])] * len(flows)
    result = {
        "quantity": "stream" if path.kind == "stream" else "copy", "cell": path.cell, "bytes": 1 << 28, "converged": True, "verified": True,
        "visits": [{"at": float(i), "seconds": 0.063, "n": len(visit)} for i, visit in enumerate(visits)],
        "flows": [{"flow": flow, "rate": rate} for flow, rate in zip(flows, shares)],
    }  # fmt: skip
    return result if lone else {**result, "total": total}


def _rate(samples: list[float]) -> dict[str, Any]:
    middle = median(samples)
    return {
        "unit": "GB/s", "median": middle, "mad": 0.0, "ci": [middle * 0.998, middle * 1.002], "min": min(samples), "max": max(samples),
        "n": len(samples),
    }  # fmt: skip


_DESCRIBED = node_to_document(NODE)


def _document(results: list[dict[str, Any]]) -> Document:
    """As ``measurement.from_raw`` makes it, without the check of the schema, which takes two thirds of a night's time."""
    raw = {
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy"}, "node": _DESCRIBED,
        "results": results, "skipped": [], "failed": [],
    }  # fmt: skip
    read = tuple(document._result(each, "simulated", place) for place, each in enumerate(results))
    return Document(raw, "simulated", NODE, read, (), ())
