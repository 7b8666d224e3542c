"""The figures of an MPI document: each curve at a small, a middle and a large message and at its peak, and wrong placement over right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from nearfar.base import NearfarError
from nearfar.cells import join_class
from nearfar.measurement import Conditions, Document, Rate, Result, SampleStatistics, SubjectMetric, shared
from nearfar.mpi import numa_pairs

from . import disturbances
from .benchmarks import BENCHMARKS
from .subjects import RIGHT, MpiCase, parse

#: Message sizes in bytes that every curve is told at; the first where the curve has no 8 B is its smallest.
SMALL, MIDDLE, LARGE = 8, 64 << 10, 4 << 20
_SIZES = ((SMALL, "8B"), (MIDDLE, "64KiB"), (LARGE, "4MiB"))
PEAK = "peak"
#: What stands behind a placement's name when its figures are divided by the right placement's.
OVER = {"same_numa_node": "over_same_numa_node", "near": "over_near"}
_RATES = ("mpi.bandwidth", "mpi.bibandwidth", "mpi.message_rate")
_PLACES = {
    "same_numa_node": "same NUMA node", "same_package": "same package", "across_packages": "across packages",
    "near": "near", "on_socket": "on socket", "off_socket": "off socket", "sole": "the one NUMA node",
}  # fmt: skip
_BUFFERS = {"H": "host", "D": "device"}


def curves(document: Document) -> dict[tuple[MpiCase, str], dict[int, Result]]:
    """The results by case and quantity, each by message size in bytes."""
    by_case: dict[tuple[MpiCase, str], dict[int, Result]] = {}
    for result in document.results:
        if result.cell is None and result.quantity.startswith("mpi.") and result.rate is not None:
            try:
                case = parse(result.subject)
            except NearfarError:
                continue  # another program's subject
            by_case.setdefault((case, result.quantity), {})[result.bytes or 0] = result
    return by_case


def figures(document: Document) -> list[SubjectMetric]:
    """The document's MPI figures, then the ratios of wrong over right placement."""
    mpi = document.raw.get("mpi") or {}
    names = (str(mpi.get("implementation") or ""), str(mpi.get("version") or ""))
    shared = disturbances.busy(document.raw)
    metrics: dict[tuple[MpiCase, str, str], SubjectMetric] = {}
    for (case, quantity), curve in curves(document).items():
        for label, result in _chosen(quantity, curve):
            assert result.rate is not None
            metrics[case, quantity, label] = _figure(
                case, quantity, label, result, result.rate, names, result.subject in shared
            )
    return [*metrics.values(), *_ratios(metrics, names)]


def _chosen(quantity: str, curve: Mapping[int, Result]) -> Iterable[tuple[str, Result]]:
    least = min(curve)
    # A rate of large messages is their bandwidth in other words.
    for size, label in _SIZES[:1] if quantity == "mpi.message_rate" else _SIZES:
        if size in curve:
            yield label, curve[size]
        elif size == SMALL and least < SMALL:
            yield f"{least}B", curve[least]
    if quantity in _RATES:
        yield PEAK, max(curve.values(), key=lambda result: result.rate.median if result.rate else 0.0)


def _figure(
    case: MpiCase, quantity: str, label: str, result: Result, rate: Rate, mpi: tuple[str, str], contended: bool
) -> SubjectMetric:  # fmt: skip
    asked = _question(case, quantity, label)
    size = "its peak" if label == PEAK else re.sub(r"^(\d+)", r"\1 ", label)
    return SubjectMetric(
        **shared(SampleStatistics, rate), **shared(Conditions, result), name=f"{case.placement}.{asked}", subject=str(case),
        words=f"{_words(case, quantity)}, {size}", path_class=case.placement, value=rate.median, interval=rate.ci,
        quantity=quantity, rows=_rows(case.placement, case, quantity, label, mpi), question=asked, contended=contended,
    )  # fmt: skip


def _question(case: MpiCase, quantity: str, label: str) -> str:
    """``osu_bw.D_D.g0_g1.peak``, as it stands behind the placement in a figure's name: benchmark, buffers, ranks, device, size;
    letters, digits, ``_`` and ``.`` alone."""
    many = [] if BENCHMARKS[case.benchmark].pair else [f"x{case.ranks}"]
    device = [re.sub(r"[^A-Za-z0-9_]", "_", case.device)] if case.device else []
    rate = ["messages"] if quantity == "mpi.message_rate" else []
    return ".".join([case.benchmark, "_".join(case.buffers), *many, *device, *rate, label])


def _rows(path_class: str, case: MpiCase, quantity: str, label: str, mpi: tuple[str, str]) -> tuple[str, ...]:
    """The references' rows: of this MPI's version, of this MPI, of any; each for this device, then for any."""
    name, anywhere = (f"{path_class}.{_question(asked, quantity, label)}" for asked in (case, replace(case, device="")))
    implementation, version = mpi[0], re.sub(r"[^A-Za-z0-9]", "_", mpi[1])
    before = ([f"{implementation}_{version}.", f"{implementation}."] if implementation else []) + [""]
    return tuple(dict.fromkeys(f"{prefix}{row}" for prefix in before for row in (name, anywhere)))


def _ratios(metrics: Mapping[tuple[MpiCase, str, str], SubjectMetric], mpi: tuple[str, str]) -> Iterable[SubjectMetric]:
    for (case, quantity, label), wrong in metrics.items():
        right = metrics.get((case.right, quantity, label)) if case.right is not None else None
        if case.right is None or right is None or right.value <= 0:
            continue
        over = OVER[RIGHT[case.placement]]
        path_class = join_class(case.placement, over)
        words, rows = f"over {_PLACES[case.right.placement]}", _rows(path_class, case, quantity, label, mpi)
        yield numa_pairs.ratio(wrong, right, path_class, over, words, rows)


def _words(case: MpiCase, quantity: str) -> str:
    buffers = "host buffers" if not case.on_devices else f"{_BUFFERS[case.buffers[0]]} to {_BUFFERS[case.buffers[1]]}"
    ranks = "" if BENCHMARKS[case.benchmark].pair else f", {case.ranks} ranks"
    device = f", GPU {' and '.join(map(str, case.gpus))}" if case.gpus else ""
    device += f", between nodes through {case.nic.replace('-', ' and ')}" if case.nic else ""
    device += ", without GPUDirect" if case.staged else ""
    rate = " message rate" if quantity == "mpi.message_rate" else ""
    return f"{case.benchmark}{rate}, {buffers}{ranks}{device}, {_PLACES[case.placement]}"
