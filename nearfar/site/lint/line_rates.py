"""Rates beside the nominal links of the nodes that they are for: what no link carries, and what only a broken one does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nearfar.cells import Flow
from nearfar.measurement import AnyMetric, Metric
from nearfar.model import link_limits
from nearfar.model.prediction import flow_link, link_ceiling
from nearfar.question import synthetic_documents
from nearfar.topology import Link, Node
from nearfar.verdict import plausibility, thresholds
from nearfar.verdict.references import ReferenceRow

from .complaints import ERROR, WARNING, Complaint
from .gpu_models import ROUNDED
from .magnitude import UnitFault, beyond, meant
from .rows import ReferenceTable, without_mpi

#: A value so far below what its link carries is another figure, whatever the state of the path.
OTHER_UNIT = 0.15
#: Data sheets have 64 GB/s where 63.0 are the line rate.
SHEET_ROUNDING = 0.01
_TOO_MUCH = ((1 / 2, "the sum of both directions?"), (1 / 8, "typed in Gbit/s?"), (1 / 10, "a digit too many?"),
             (1 / 1000, "typed in MB/s?"))  # fmt: skip
_TOO_LITTLE = ((10, "a digit lost?"), (1000, "typed in TB/s?"))

_About = Sequence[tuple[Metric, Node]]


class PhysicalLimit(NamedTuple):
    """What a figure cannot exceed, GB/s: ``line`` with packet headers, ``payload`` without. ``link`` names what carries it."""

    line: float
    payload: float
    link: str
    kind: str


def complaints(table: ReferenceTable, memories: Mapping[str, float]) -> Iterator[Complaint]:
    """Of each row at most one: what is most wrong with its value; ``memories``: nominal rates of GPUs' memory, GB/s, by model."""
    for row in table.rows.values():
        figures = (table.figures or {}).get(without_mpi(row.name)) or []
        about = [(metric, node) for metric, node in figures if isinstance(metric, Metric)]
        fault = (
            _of_links(row, about)
            or _implausible(row, figures)
            or _of_gpu_memory(row, about, memories.get(table.model or ""))
            or _above_dimms(row.value, about)
        )
        if fault is not None:
            yield table.complaint(*fault, row)


def _of_gpu_memory(row: ReferenceRow, about: _About, rate: float | None) -> UnitFault | None:
    """A rate above what the memory of the row's GPU model carries: of all GPUs that a figure sums up."""
    cells = [metric.cell for metric, _ in about if row.unit == "GB/s" and not metric.derived]
    flows = [flow for cell in cells for flow in cell.flows]
    if not flows or not all(flow.kind == "gpu_stream" and flow.source == flow.destination for flow in flows):
        return None
    gpus = max(len(metric.cell.flows) if metric.flow is None else 1 for metric, _ in about)
    if rate is None or row.value <= gpus * rate * (1 + ROUNDED):
        return None
    return UnitFault(ERROR, "impossible", f"{row.value:g} GB/s is above the memory of its GPUs, {gpus * rate:g} GB/s")


def _implausible(row: ReferenceRow, figures: Sequence[tuple[AnyMetric, Node]]) -> UnitFault | None:
    """A value that none of the figures which the row speaks of can have on a healthy node."""
    of_figures = [plausibility.healthy_limits(metric) for metric, _ in figures]
    known = [limits for limits in of_figures or [plausibility.of_kind(row.unit, row.name)] if limits is not None]
    faults = [beyond(row.value, row.unit, limits) for limits in known]
    return faults[0] if faults and all(faults) else None


def _of_links(row: ReferenceRow, about: _About) -> UnitFault | None:
    """A rate above what its links carry, or far below."""
    memory = row.path_class in ("local", "all") or any(metric.quantity == "stream" for metric, _ in about)
    if row.unit != "GB/s" or memory:
        return None
    limits = [limit for metric, node in about if (limit := _limit(metric, node))]
    above = above_link(row.value, max(limits, key=lambda limit: limit.line)) if limits else None
    return above or _below_link(row.value, row.inner[0], about)


def _above_dimms(value: float, about: _About) -> UnitFault | None:
    """A rate of cores above what the memory of its NUMA nodes carries at most, where that is known of all that the row speaks of."""
    peaks = [metric.ceiling for metric, _ in about if all(flow.kind == "stream" for flow in metric.cell.flows)]
    known = [peak for peak in peaks if peak is not None]
    if not known or len(known) < len(about) or value <= max(known) * 1.001:
        return None
    return UnitFault(ERROR, "impossible", f"{value:g} GB/s is above the peak of its memory, {max(known):g} GB/s")


def above_link(value: float, limit: PhysicalLimit) -> UnitFault | None:
    """What is wrong with a rate above what its links can carry."""
    carried = f"{limit.link}, {limit.line:.1f} GB/s ({limit.payload:.1f} of payload)"
    if value > limit.line:
        # Data sheets have line rates, rounded up.
        guess = meant(value, limit.payload, _TOO_MUCH) or meant(value, limit.line * (1 + SHEET_ROUNDING), _TOO_MUCH)
        message = f"{value:g} GB/s is above the line rate of {carried}{guess}"
        return UnitFault(ERROR, "line-rate", message)
    if value > limit.payload * (1 + thresholds.CEILING_ROUNDING):
        # NVLink's packets are what they are; of PCIe's the size that a system negotiates is assumed.
        level, packets = (ERROR, "") if limit.kind == "nvlink" else (WARNING, "; that needs packets above 256 B")
        return UnitFault(level, "line-rate", f"{value:g} GB/s is above what can be payload of {carried}{packets}")
    return None


def below_any_link(value: float, payload: float, link: str) -> UnitFault | None:
    """What is wrong with a rate that no path over a link has, however far or broken."""
    if value >= OTHER_UNIT * payload:
        return None
    why = meant(value, payload, _TOO_LITTLE)
    return UnitFault(WARNING, "magnitude", f"{value:g} GB/s is {value / payload:.2%} of what {link} carries{why}")


def _below_link(value: float, lower: float | None, about: _About) -> UnitFault | None:
    """A value, or a lower bound, that only a broken path has, whichever of the figures the row speaks of."""
    # What leads through a package link may be far slower than the GPU's link.
    own = [(metric, node) for metric, node in about if metric.path_class not in ("on_socket", "off_socket", "unknown")]
    limits = [limit for metric, node in own if (limit := link_limits.ceiling(metric, node)) is not None]
    if not limits or len(limits) < len(about):
        return None
    narrow = min(limits, key=lambda limit: limit.value)
    part = value / narrow.value
    carries = f"{part:.{0 if part >= 0.01 else 2}%} of what the link carries ({narrow.explanation})"
    if part < OTHER_UNIT:
        why = meant(value, narrow.value, _TOO_LITTLE) or "; it would accept a broken path"
        return UnitFault(ERROR, "magnitude", f"{value:g} GB/s is {carries}{why}")
    if not all(link_limits.least(metric, node) for metric, node in about):
        return None
    broken = f"below {link_limits.BROKEN:.0%} a path is broken"
    if part < link_limits.BROKEN:
        return UnitFault(WARNING, "low", f"{value:g} GB/s is {carries}; {broken}")
    lowest = None if lower is None else part * (1 + lower)
    if lowest is not None and lowest < link_limits.BROKEN:
        message = f"its lower bound, {lowest * narrow.value:.4g} GB/s, accepts {lowest:.0%} of what the link carries"
        return UnitFault(WARNING, "loose", f"{message}; {broken}")
    return None


def _limit(metric: Metric, node: Node) -> PhysicalLimit | None:
    """What a figure's links carry, together where it is a sum; None where nobody knows."""
    flow = metric.flow or metric.cell.flows[0]
    line_rate = synthetic_documents.flow_line_rate(flow, node)
    if metric.ceiling is None or metric.unit != "GB/s" or line_rate is None:
        return None
    link = _link(flow, node)
    payload = link_ceiling(link) or line_rate
    many = round(metric.ceiling / line_rate, 2)
    link_words = f"{'' if many == 1 else f'{many:g} × '}{link_limits.link_text(link)}"
    return PhysicalLimit(metric.ceiling, metric.ceiling * min(1.0, payload / line_rate), link_words, link.kind)


def _link(flow: Flow, node: Node) -> Link:
    """The link that limits a flow."""
    direct = flow_link(flow, node)
    if direct is not None:
        return direct.nominal
    links = [gpu.link.nominal for index in flow.gpus if (gpu := node.gpu(index)) is not None]
    return min(links, key=lambda link: link_ceiling(link) or 0.0)
