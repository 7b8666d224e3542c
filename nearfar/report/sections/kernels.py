"""Kernels with their transfers: their times, the penalty of each other path beside what the links cost, and the rates of matrix
products with the state of the GPU that computed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from nearfar import kernels
from nearfar.kernels import KernelPenalty, KernelRun, SustainedRun
from nearfar.measurement import Document, Rate, from_raw
from nearfar.report.blocks import Block, Table, Text, words_table
from nearfar.report.figures import class_words, number, percent, wording

_TIMES = ("in", "compute", "out", "total", "overlapped")
_SHOWN = ("in", "kernel", "out", "in turn", "overlapped")


def kernel_blocks(document: Mapping[str, Any]) -> Sequence[Block]:
    """Tables and a note; nothing of other documents."""
    if not any(str(result.get("quantity")).startswith("kernel.") for result in document.get("results", [])):
        return []
    whole = from_raw(document)
    if loaded := kernels.sustained.runs(whole):
        return _sustained(loaded)
    runs = kernels.runs(whole)
    if {run.kernel for run in runs} <= set(kernels.GEMM):
        return _computed(runs)
    found = kernels.penalties.of_document(whole, whole.node)
    one_node = "the node has one NUMA node: there is no second path class, and no penalty"
    return [
        *_penalties(found),
        *_times(runs, whole),
        *([Text((one_node,), "muted")] if len(whole.node.host_numa_nodes) == 1 else []),
    ]


def _times(runs: Sequence[KernelRun], document: Document) -> list[Table]:
    """A row for each kernel, size and path."""
    rows = []
    for run in runs:
        label = f"{_sized(run)}: {run.about} {class_words(run.about.path_class(document.node))}"
        times = [number(rate.value / 1e3 if rate else None, "ms") for rate in map(run.rate, _TIMES)]
        rows.append((label, *times, _amount(run.rate("rate")), number(run.density, "1")))
    caption = (
        "milliseconds of one call; in turn: in, kernel, out one after the other; overlapped: double buffered, per call"
    )
    columns = (*_SHOWN, "rate of the kernel", "operations per byte")
    return words_table("Kernels with their transfers", caption, columns, rows)


def _penalties(found: Sequence[KernelPenalty]) -> list[Table]:
    """A row for each kernel, size and path but the near ones."""
    rows: dict[str, dict[str, KernelPenalty]] = {}
    for each in found:
        path = f"{each.other.about} {class_words(each.path_class)}"
        rows.setdefault(f"{_sized(each.other)}: {path}", {})[each.what] = each
    made = [
        (label, _penalty(mine.get("total")), _link(mine.get("total")), _penalty(mine.get("overlapped")), _density(mine))
        for label, mine in rows.items()
    ]
    columns = ("in turn", "by the links", "overlapped", "operations per byte")
    caption = "how much longer one call takes than from the near memory, with its interval; by the links: what their rates alone cost"
    return words_table("Penalty of other paths", caption, columns, made)


def _computed(runs: Sequence[KernelRun]) -> list[Table]:
    """The rates of matrix products, beside the state of the GPU."""
    rows = []
    for run in runs:
        state = run.state
        values = (_both([state.clock], "MHz"), _both([state.power], "W"), _both([state.temperature], "°C"))
        label = f"g{run.about.gpu}: {_sized(run)}"
        rows.append((label, _amount(run.rate("rate")), *values, ", ".join(state.throttle) or "–"))
    columns = ("rate", "clock", "power", "temperature", "clocks reduced by")
    return words_table("Matrix products", "the kernel alone, and the GPU while it ran", columns, rows)


def _sustained(loaded: Sequence[SustainedRun]) -> list[Table]:
    """A row for each GPU."""
    rows = []
    for run in loaded:
        clocks = [run.over("sm_clock_mhz", of) for of in (median, min)]
        heat = [run.most(key) for key in ("temperature_c", "memory_temperature_c")]
        rows.append((
            f"g{run.gpu}: {run.kernel}", _amount(run.rate), _both(clocks, "MHz"), _both([run.state.power], "W"), _both(heat, "°C"),
            ", ".join(run.state.throttle) or "–", f"{run.wrong_seconds} of {len(run.seconds)}",
        ))  # fmt: skip
    columns = ["rate", "clock, median / least", "power, most", "GPU / memory, hottest", "clocks held down by"]
    columns += ["seconds with a wrong result"]
    return words_table("All GPUs at full load", "exact products, each of them checked", columns, rows)


def _both(values: Sequence[float | None], unit: str) -> str:
    known = [f"{value:.0f}" for value in values if value is not None]
    return f"{' / '.join(known)} {unit}" if known else "–"


def _density(penalties: Mapping[str, KernelPenalty]) -> str:
    return number(next((each.other.density for each in penalties.values()), None), "1")


def _sized(run: KernelRun) -> str:
    by_cores = "host " if run.on_host else ""
    return f"{by_cores}{run.kernel}, {run.size}{' (smaller)' if run.smaller else ''}"


def _amount(rate: Rate | None) -> str:
    return wording.amount(rate.value, rate.unit) if rate else "–"


def _penalty(each: KernelPenalty | None) -> str:
    return percent(each.value, each.interval) if each else "–"


def _link(each: KernelPenalty | None) -> str:
    if each is None or each.link is None:
        return "–"
    return percent(each.link) + ("" if each.only_the_link else ", not only the link")
