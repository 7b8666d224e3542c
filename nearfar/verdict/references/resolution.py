"""The one place that says what a figure should be, and how that is known.

In this order: the site's tuned reference, the published value of the same node type, figures of healthy GPUs of the same
model, the ceiling of the nominal link or the published capacities of the node type, and siblings (the same figure of the
node's other GPUs). A modelled document is compared with published values only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar import nccl
from nearfar.base import grouped, plural, statistics
from nearfar.cells import Cell, Endpoint, Flow, cell_class, exchange_of, load_of
from nearfar.measurement import COMPUTE_UNITS, MADE_OF_OTHERS, AnyMetric, Metric, SubjectMetric
from nearfar.model import link_limits
from nearfar.model.prediction import NodeType, predict
from nearfar.question import Question, judged_elsewhere
from nearfar.topology import OWN_LINKS, Node
from nearfar.verdict import thresholds

from . import model_ranges, software_changes
from .adjustments import as_published, on_host
from .model_ranges import MEMORY, ModelRanges
from .reference import Reference, figure, with_unit
from .reference_files import ReferenceFile, fastest_links
from .software_changes import FleetLevel

#: Of a modelled figure: something that nobody knows may limit it more.
BEST_CASES = ("upper bound", "nominal")
#: Bytes from which on the range bounds a figure; smaller messages are latency, which software changes.
_BOUNDED_FROM = 32 << 20


def row_keys(metric: AnyMetric) -> list[str]:
    """The rows that may hold a metric's reference, the most precise first: its own name, then its class's.

    Cells of several GPUs' links to the host have their own name alone: what they carry depends on which GPUs they are. Of
    exchanges between GPUs on paths of one class each flow has a class's row, and the totals of one to all and all to one:
    those of disjoint pairs depend on how many these are.
    """
    if isinstance(metric, SubjectMetric):
        return list(metric.rows) or [metric.name]
    keys, cell, path_class = [metric.name], metric.cell, metric.class_in_name
    asked, exchange = question_of(cell, metric.flow, metric.total), exchange_of(cell)
    if cell.lone or _load(cell) == "both":
        keys.append(f"{path_class}.{asked}")
    elif exchange is not None:
        hub_s = metric.total and exchange.hub is not None
        keys += [f"{path_class}.{asked}"] if path_class != "mixed" and (hub_s or metric.flow is not None) else []
    elif metric.quantity == "stream":
        keys.append(asked if metric.total else f"{asked}.{path_class}")
    return keys


def question_of(cell: Cell, flow: Flow | None, total: bool) -> str:
    """What a figure of a cell asks of its path class, as rows have it: ``h2d``, ``write.x2``, ``both.total``, ``both.h2d``,
    ``one_to_all.write``, ``triad``, ``all.triad``; of other flows at once ``together.total``, ``together.h2d``."""
    one = flow or cell.flows[0]
    way = link_limits.driven(one) if one.kind == "peer" else one.direction
    what = ".".join([way, *(option for option in one.options if option != one.kernel)])
    if cell.lone:
        return what
    exchange = exchange_of(cell)
    if exchange is None and one.kind == "stream":
        return f"all.{one.kernel}"
    pattern = _load(cell) or (exchange.pattern if exchange is not None else "together")
    slower = "sm" if one.sm else "staged" if one.staged else ""  # than what copy engines do from GPU to GPU
    if total and slower and pattern != "together":
        return f"{pattern}.{slower}.total"
    return f"{pattern}.{'total' if total else what}"


def _load(cell: Cell) -> str | None:
    return link_limits.host_load(cell) or link_limits.peer_load(cell)


def by_check(question: Question, figures: Iterable[AnyMetric]) -> dict[str, list[AnyMetric]]:
    """Figures by the check whose references judge them; the question's own is always among these."""
    return {question.name: [], **grouped((question.references_of(metric), metric) for metric in figures)}


def of_question(
    question: Question, figures: Sequence[AnyMetric], files: Sequence[ReferenceFile], node: Node, host: str = "own", **known: Any
) -> dict[str, Reference | None]:  # fmt: skip
    """The references of a question's figures by name on an ``own`` or a ``shared`` host. ``known``: as ``resolve`` takes it."""
    resolved: dict[str, Reference | None] = {}
    for check, own in by_check(question, figures).items():
        resolved |= resolve(own, check, files, node, **known)
    return on_host(resolved, figures, host)


def resolve(
    metrics: Sequence[AnyMetric],
    check: str,
    files: Sequence[ReferenceFile],
    node: Node,
    *,
    kind: str = "measured",
    node_type: NodeType | None = None,
    stamp: Mapping[str, str] | None = None,
    ranges: ModelRanges | None = None,
    levels: Sequence[FleetLevel] = (),
    system: str | None = None,
) -> dict[str, Reference | None]:
    """The reference of every metric by name; None where nothing says what it should be, or another figure judges the same fact and
    nothing was published of this one.

    ``node`` is the expected node (the site's), ``kind`` the document's, ``ranges`` what is known of GPU models. ``stamp`` is the software
    that ran on ``system``, ``levels`` what its fleet has with each software, where a reference was tuned with other. Raises
    ``NearfarError`` for a reference above a line rate.
    """
    for file in files:
        file.check_line_rates(fastest_links(node))
    found: dict[str, Reference | None] = {}
    software = {key: str(version) for key, version in (stamp or {}).items() if version is not None}
    siblings = _sibling_groups(metrics, node)
    for metric in metrics:
        own = judged_elsewhere(check, metric) is None
        certain = _certain(metric, node, ranges or {}) if isinstance(metric, Metric) else None
        broken = None if certain is None else certain.lowest
        speaking = files if own else [file for file in files if file.origin == "published"]
        reference = _from_files(metric, check, speaking, node, kind, software, levels, system, broken)
        if kind == "measured" and own:
            model = _from_model(metric, node, ranges or {}, broken)
            reference = _as_good_as(reference, model) or model or certain or _predicted(metric, node, node_type)
            # A tuned reference that is not stale knows the figure's own spread, and siblings add nothing.
            if reference is None or reference.origin != "tuned" or reference.stale:
                reference = _stricter(reference, _from_siblings(metric, siblings.get(metric.name, ())))
        if isinstance(metric, Metric) and metric.basis in BEST_CASES and reference is not None:
            # The best case bounds from above: only what was published above it contradicts it.
            reference = replace(reference, upper=None)
        found[metric.name] = reference
    return found


def _from_files(
    metric: AnyMetric, check: str, files: Sequence[ReferenceFile], node: Node, kind: str, now: Mapping[str, str],
    levels: Sequence[FleetLevel], system: str | None, broken: float | None,
) -> Reference | None:  # fmt: skip
    """The reference of the first file that speaks of a figure; a stale one as it judges by what its fleet has with the software of
    ``now``."""
    model = model_of(metric, node)
    for file in files:
        if kind == "modelled" and file.origin != "published":
            continue
        row = file.row(check, model, row_keys(metric))
        if row is None:
            continue
        if row.unit != metric.unit:
            raise file.file.error(f"{metric.name} is in '{metric.unit}', its reference in '{row.unit}'", check)
        found = file.reference(row, now)
        if kind == "measured" and file.origin == "published":
            return as_published(found, file.published_of(system), broken)
        if not found.stale:
            return found
        own = [level for level in levels if (level.check, level.gpu_model, level.row) == (row.check, model, row.name)]
        lone = isinstance(metric, Metric) and metric.quantity == "copy" and metric.cell.lone and not metric.derived
        return software_changes.judged(found, row.stamp(file.tuned), now, own, lone)
    return None


def model_of(metric: AnyMetric, node: Node) -> str | None:
    """The GPU model whose rows speak of a figure: that of the first GPU that takes part, else of the node's first."""
    gpus = metric.gpus if isinstance(metric, SubjectMetric) else metric.cell.flows[0].gpus
    gpu = node.gpu(gpus[0]) if gpus else next(iter(node.gpus), None)
    return None if gpu is None else gpu.name


def _from_model(metric: AnyMetric, node: Node, ranges: ModelRanges, broken: float | None) -> Reference | None:
    """What healthy GPUs of the same model have, of paths and of what one GPU computes: below the least of them, less a margin, DEGRADED,
    and FAIL below what is ``broken``."""
    of_path = isinstance(metric, Metric)
    indices = metric.cell.flows[0].gpus if isinstance(metric, Metric) else metric.gpus
    gpus = [gpu for index in indices if (gpu := node.gpu(index)) is not None]
    fits = metric.unit == "GB/s" if of_path else metric.unit in COMPUTE_UNITS and len(indices) == 1
    if metric.derived or not fits or len({gpu.name for gpu in gpus}) != 1:
        return None
    link = gpus[0].link.nominal if of_path and len(gpus) == 1 else None
    found = model_ranges.find(ranges, gpus[0].name, row_keys(metric), link)
    if found is None:
        return None
    healthy, margin, unit = *found, metric.unit
    low, high = min(each.low for each in healthy), max(each.high for each in healthy)
    degraded, middle, machines = low * (1 - margin), (low + high) / 2, sum(each.machines for each in healthy)
    span = f"{figure(low, unit)} to {with_unit(high, unit)}" if low < high else with_unit(low, unit)
    seen = f"{span} on {plural(machines, 'machine')}"
    words = f"at least {with_unit(degraded, unit)} (model: healthy GPUs of this model have {seen}; less {margin * 100:.0f} %)"
    note = f"healthy GPUs of this model: {seen} ({'; '.join(each.words for each in healthy)})"
    lower = None if broken is None else broken / middle - 1
    return Reference(middle, lower, None, unit, "model", note, degraded, words)


def _as_good_as(tuned: Reference | None, model: Reference | None) -> Reference | None:
    """A tuned reference with the DEGRADED bound of its GPUs' model where that is nearer, and the tuned value as good as healthy ones: a
    row from one host knows less than what is known of the model."""
    if tuned is None or model is None or tuned.origin != "tuned" or tuned.stale:
        return tuned
    least = (model.degraded_below or 0) / (1 - thresholds.MODEL_MARGIN)
    return _stricter(tuned, model) if tuned.value >= least * (1 - thresholds.AS_GOOD) else tuned


def _certain(metric: Metric, node: Node, ranges: ModelRanges) -> Reference | None:
    """The ceiling of the nominal link or memory, below half of which a lone path or a memory is broken. It accepts nothing."""
    limit = link_limits.least(metric, node)
    if limit is None:
        return _from_nominal_memory(metric, model_of(metric, node), ranges)
    note = f"{limit.explanation}, below half of it a path is broken"
    return Reference(limit.value, link_limits.BROKEN - 1, None, metric.unit, "prediction", note, accepts=False)


def _predicted(metric: AnyMetric, node: Node, node_type: NodeType | None) -> Reference | None:
    """What a collective should reach; and what many GPUs carry at once on this type of node, where all that limits them is published."""
    if isinstance(metric, SubjectMetric):
        return _from_expectation(metric, node, node_type)
    load = None if node_type is None else load_of(node_type.node, metric.cell)
    from_host = load is not None and len(load.gpus) > 1 and load.tasks == 1
    if node_type is None or not (from_host or exchange_of(metric.cell)) or metric.unit != "GB/s":
        return None
    prediction = predict(metric.cell, node_type)
    known = {c.name: c.published for c in (*node_type.capacities.values(), *node_type.caps.values())}
    value = prediction.total
    if prediction.unknown or value is None or not all(known.get(name) for name in prediction.limited_by):
        return None
    degraded = value * (1 - thresholds.AT_ONCE_SLACK)
    note = f"limited by {', '.join(prediction.limited_by[:3])}{' …' if len(prediction.limited_by) > 3 else ''}"
    words = f"at least {with_unit(degraded, metric.unit)} (prediction: {with_unit(value, metric.unit)}, {note})"
    return Reference(value, link_limits.BROKEN - 1, None, metric.unit, "prediction", note, degraded, words)


def _from_expectation(metric: SubjectMetric, node: Node, node_type: NodeType | None) -> Reference | None:
    """The prediction: below its range DEGRADED, and FAIL below half of what is typical; None where it does not know the node."""
    if metric.quantity != nccl.BUSBW:
        return None
    case, size = nccl.parse_case(metric.subject), nccl.size_of(metric.question.rpartition(".")[2])
    known = node if node_type is None or len(node_type.node.gpus) != len(node.gpus) else node_type
    healthy = nccl.expected_of(case, size, known)
    if healthy is None:
        return None
    unit, gpu = metric.unit, next(iter(node.gpus), None)
    words = f"{case.ranks} × {(gpu and gpu.name) or 'GPU'} {'with' if healthy.algorithm.startswith('nvls') else 'without'} NVLS"
    span = f"{figure(healthy.low, unit)}–{figure(healthy.high, unit)}"
    note = f"{span} for {words}, {healthy.algorithm}, limited by {healthy.limit}"
    if size < _BOUNDED_FROM:
        return Reference(healthy.typical, None, None, unit, "prediction", note, accepts=False)
    least = f"at least {with_unit(healthy.low, unit)} (prediction: {with_unit(healthy.typical, unit)}, {note})"
    return Reference(healthy.typical, link_limits.BROKEN - 1, None, unit, "prediction", note, healthy.low, least)


def _from_nominal_memory(metric: Metric, model: str | None, ranges: ModelRanges) -> Reference | None:
    """The nominal rate of the memory of a GPU ``model``, or what its clock and width say where the model's file says nothing: a kernel
    alone below half of it is broken. It accepts nothing. None for all other figures."""
    flow = metric.cell.flows[0]
    alone = metric.cell.lone and not metric.derived and metric.unit == "GB/s"
    if not alone or flow.kind != "gpu_stream" or flow.source != flow.destination:
        return None
    known = ranges.get(model or "", {}).get(MEMORY, ())
    if known:
        value, words = known[0].high, f"nominal rate of the GPU's memory ({known[0].words})"
    elif metric.ceiling is not None:
        value, words = metric.ceiling, "clock and width of the GPU's memory"
    else:
        return None
    note = f"{words}, below half of it a memory is broken"
    return Reference(value, link_limits.BROKEN - 1, None, metric.unit, "prediction", note, accepts=False)


def _from_siblings(metric: AnyMetric, group: Sequence[AnyMetric]) -> Reference | None:
    """The median of those of a group that are not the metric itself, less their spread, at least a part of it."""
    others = [m.value for m in group if m.name != metric.name]
    if len(others) < thresholds.LEAST_SIBLINGS:
        return None
    middle = statistics.median(others)
    # What is measured in windows scatters more than what is measured by itself.
    by_itself = isinstance(metric, SubjectMetric) or (
        metric.cell.lone
        and not metric.beside
        and not any(f.staged or f.pageable or f.tasks > 1 for f in metric.cell.flows)
    )
    slack = max(thresholds.SIBLING_SLACK[by_itself] * middle, 3 * statistics.spread(others))
    note = f"median of {len(others)} like it in this node"
    least = with_unit(middle - slack, metric.unit)
    words = f"at least {least} (siblings: {with_unit(middle, metric.unit)}, {note})"
    return Reference(middle, None, None, metric.unit, "siblings", note, middle - slack, words, accepts=False)


def _stricter(reference: Reference | None, other: Reference | None) -> Reference | None:
    """A reference with the DEGRADED bound of another, where that is nearer: inside the bounds and below it is DEGRADED."""
    if reference is None or other is None:
        return reference or other
    if other.degraded_below is None or other.degraded_below <= (reference.degraded_below or 0):
        return reference
    if reference.lowest is not None and other.degraded_below <= reference.lowest:
        return reference
    return replace(reference, degraded_below=other.degraded_below, degraded_words=other.degraded_words)


def _crossings(metric: Metric, node: Node) -> frozenset[tuple[int, int]]:
    """The packages that a rate leads from and to over the link between them, which may be faster one way than the other."""
    flows = metric.cell.flows if metric.flow is None else (metric.flow,)
    through_host = [flow for flow in flows if flow.staged or not metric.path_class.startswith(OWN_LINKS)]
    ends = [(_package(flow.source, node), _package(flow.destination, node)) for flow in through_host]
    return frozenset((a, b) for a, b in ends if a is not None and b is not None and a != b)


def _package(endpoint: Endpoint, node: Node) -> int | None:
    part = node.gpu(endpoint.index) if endpoint.kind == "g" else node.numa_node(endpoint.index)
    return None if part is None else part.package


def _sibling_groups(metrics: Sequence[AnyMetric], node: Node) -> dict[str, list[AnyMetric]]:
    """The metrics that are alike, by the name of each: other GPUs (or NUMA nodes) of the same model, link, class and uplink. None for
    derived figures, and for times, of which the least is best: siblings say only what is too little."""
    own = [metric for metric in metrics if metric.quantity not in MADE_OF_OTHERS]
    groups = grouped((group, metric) for metric in own if (group := _sibling_group(metric, node)) is not None)
    return {metric.name: group for group in groups.values() for metric in group}


def _sibling_group(metric: AnyMetric, node: Node) -> Hashable:
    """What siblings have in common; None where a metric can have none."""
    keys = row_keys(metric)
    if isinstance(metric, SubjectMetric):
        alone = metric.unit in COMPUTE_UNITS and len(metric.gpus) == 1
        return (keys[-1], metric.unit, model_of(metric, node)) if alone else None
    if metric.unit != "GB/s" or len(keys) == 1:
        return None
    flow = metric.cell.flows[0]
    gpu = node.gpu(flow.gpus[0]) if flow.gpus else None
    own: tuple[object, ...]
    if gpu is None:
        # STREAM: only pairs as far apart are alike, and CPU-less memory is of another kind.
        distance = node.distances.get((flow.source.index, flow.destination.index)) if flow.kind == "stream" else None
        own = distance, link_limits.knows_memory(metric.cell, node)
    elif len(flow.gpus) > 1:
        gpus = [node.gpu(index) for each in metric.cell.flows for index in each.gpus]
        # A copy through host memory uses the PCIe links, whichever lanes join the GPUs: below one switch it has them twice.
        through_host = replace(node, peers={}) if any(each.staged for each in metric.cell.flows) else None
        switches = None if through_host is None else cell_class(through_host, metric.cell)
        own = len(metric.cell.flows), tuple(sorted({str(gpu.name) for gpu in gpus if gpu is not None})), switches
    else:
        sharing = tuple(len([g for g in node.gpus if bridge in g.uplinks]) for bridge in gpu.uplinks)
        own = gpu.name, gpu.link.nominal, sharing, link_limits.knows_memory(metric.cell, node)
    return keys[1], metric.unit, own, _crossings(metric, node)
