"""Figures and bounds in a technician's words."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.cells import ALL_TO_ONE, DERIVED, ONE_TO_ALL, ONE_WAY, Cell, Flow, exchange_of, pretty
from nearfar.measurement import AnyMetric, SubjectMetric
from nearfar.verdict.references import Reference, figure, more_digits, with_unit


def describe(metric: AnyMetric) -> str:
    """The figure in a technician's words: ``GPU 2, device to host into NUMA node 0``."""
    if isinstance(metric, SubjectMetric):
        return metric.words
    words = _load_words(metric.cell, metric.flow, metric.total)
    if metric.beside:
        words += f" beside {', '.join(map(pretty, metric.beside))}"
    if metric.remeasured:
        words += ", measured again alone"
    if metric.derived == "over_near":
        return f"{words}: ratio of the {metric.path_class} to the near path"
    return f"{words}: {DERIVED[metric.derived]}" if metric.derived else words


#: A median that differs from the plateau by more than this part is said beside it.
_APART = 0.01


def _load_words(cell: Cell, flow: Flow | None, total: bool) -> str:
    if cell.lone:
        return _flow_words(cell.flows[0])
    if flow is not None:
        one_pair = len(cell.flows) == 2 and (_one_path(cell) or _one_pair(cell))
        if cell.copies_beside_kernels:
            return f"{_flow_words(flow)}, beside {_others_words(cell, flow)}"
        many = _many_words(cell)
        # What all flows have in common stands once.
        many = many.removesuffix(f", {_WAYS.get(flow.direction, '')}, NUMA node {flow.numa_node}")
        rest = "both directions at once" if one_pair else f"of {many}" if many else f"while {cell} runs"
        return f"{_flow_words(flow)}, {rest}"
    if _one_path(cell):
        first = cell.flows[0]
        return f"GPU {first.gpus[0]}, both directions at once with NUMA node {first.numa_node}" + (
            ", together" if total else ""
        )
    if len(cell.flows) == 2 and _one_pair(cell):
        one, other = sorted(cell.flows[0].gpus)
        return f"GPUs {one} and {other}, both directions at once" + (", together" if total else "")
    many = _many_words(cell)
    if many:
        return many + (", together" if total else "")
    if all(f.kind == "stream" for f in cell.flows):
        return f"memory of all {len(cell.flows)} NUMA nodes at once, STREAM {cell.flows[0].kernel}"
    if cell.copies_beside_kernels:
        return f"{_others_words(cell, None)}, the rates of all together"
    return f"{cell}, together"


def _others_words(cell: Cell, flow: Flow | None) -> str:
    """The flows of a cell beside one of them (``None``: all), those with host memory together: ``copies in both directions with
    GPUs 0, 1 and STREAM triad by NUMA node 0's cores``."""
    rest = [other for other in cell.flows if other != flow]
    copies = [other for other in rest if other.kind == "host"]
    words = []
    if copies:
        gpus = list(dict.fromkeys(gpu for other in copies for gpu in other.gpus))
        ways = {other.direction for other in copies}
        way = "in both directions" if len(ways) > 1 else _WAYS[ways.pop()]
        words.append(f"copies {way} of GPU{'s' if len(gpus) > 1 else ''} {', '.join(map(str, gpus))}")
    streams = [other for other in rest if other.kind == "stream"]
    words += [f"STREAM {each.kernel} by NUMA node {each.source.index}'s {_CORES[each.cores]}" for each in streams]
    words += [f"matrix products of GPU {each.gpus[0]}" for each in rest if each.kind == "compute"]
    words += [_flow_words(each) for each in rest if each.kind not in ("host", "stream", "compute")]
    return " and ".join(words)


def _many_words(cell: Cell) -> str:
    """``GPUs 0, 3, 1 at once, host to device``: flows of several GPUs with host memory, or between them; empty for other cells."""
    exchanged = _exchange_words(cell)
    if exchanged:
        return exchanged
    gpus = cell.gpus
    if len(gpus) < 2 or any(flow.kind != "host" for flow in cell.flows):
        return ""
    ways = {flow.direction for flow in cell.flows}
    way = "both directions" if len(ways) > 1 else _WAYS[ways.pop()]
    memories = sorted({flow.numa_node for flow in cell.flows if flow.numa_node is not None})
    tasks = {flow.tasks for flow in cell.flows}
    shared = f", {max(tasks)} tasks each" if max(tasks) > 1 else ""
    named = ", ".join(map(str, gpus))
    return f"GPUs {named} at once{shared}, {way}, NUMA node{'s' if len(memories) > 1 else ''} {', '.join(map(str, memories))}"


def _exchange_words(cell: Cell) -> str:
    """``GPU 0 to GPUs 1, 2, 3 at once``; empty where a cell is no exchange."""
    exchange = exchange_of(cell)
    if exchange is None:
        return ""
    sources, destinations = (", ".join(str(flow.gpus[end]) for flow in cell.flows) for end in (0, 1))
    if exchange.pattern == ONE_TO_ALL:
        return f"GPU {exchange.hub} to GPUs {destinations} at once"
    if exchange.pattern == ALL_TO_ONE:
        return f"GPUs {sources} to GPU {exchange.hub} at once"
    if exchange.pattern == ONE_WAY:
        return f"GPUs {sources} to GPUs {destinations} at once, one each"
    return f"GPU pairs {', '.join(f'{a} and {b}' for a, b in exchange.pairs)} at once, both directions"


_WAYS = {"h2d": "host to device", "d2h": "device to host"}


#: How many of a NUMA node's cores a STREAM flow has.
_CORES = {
    None: "cores",
    "one": "first core",
    "half": "cores, every second",
    "buttwo": "cores but two",
    "butone": "cores but one",
}


def _one_path(cell: Cell) -> bool:
    return all(flow.kind == "host" for flow in cell.flows) and len({(f.numa_node, f.gpus) for f in cell.flows}) == 1


def _one_pair(cell: Cell) -> bool:
    return all(flow.kind == "peer" for flow in cell.flows) and len({frozenset(f.gpus) for f in cell.flows}) == 1


def _flow_words(flow: Flow) -> str:
    options = [option for option in flow.options if option not in (flow.kernel, flow.cores)]
    extra = f" ({', '.join('/' + option for option in options)})" if options else ""
    if flow.kind == "stream":
        return f"NUMA node {flow.source.index}'s {_CORES[flow.cores]}, memory of NUMA node {flow.destination.index}, STREAM {flow.kernel}"
    if flow.kind == "gpu_stream":
        end = flow.destination
        owner = f"GPU {end.index}" if end.kind == "g" else f"NUMA node {end.index}"
        memory = "its own memory" if end == flow.source else f"memory of {owner}"
        return f"GPU {flow.source.index}, {memory}, STREAM {flow.kernel}"
    if flow.kind == "compute":
        return f"GPU {flow.gpus[0]}, matrix products"
    if flow.kind == "local":
        return f"GPU {flow.gpus[0]}, within its memory{extra}"
    if flow.kind == "peer":
        read = ", read" if flow.driver is not None else ""
        return f"GPU {flow.source.index} to GPU {flow.destination.index}{read}{extra}"
    toward = "from" if flow.direction == "h2d" else "into"
    return f"GPU {flow.gpus[0]}, {_WAYS[flow.direction]} {toward} NUMA node {flow.numa_node}{extra}"


def amount(metric: AnyMetric, more: int = 0) -> str:
    """A figure with its unit; a ratio without. ``more``: digits beyond the usual ones."""
    return with_unit(metric.value, metric.unit, more=more)


def level(metric: AnyMetric, more: int = 0) -> str:
    """A figure that is beside its bound: a plateau is named, with the median where that lies clearly elsewhere."""
    if metric.plateau is None:
        return amount(metric, more)
    apart = metric.median is not None and abs(metric.median - metric.value) > _APART * abs(metric.value)
    median = f", median {figure(metric.median, metric.unit)}" if metric.median is not None and apart else ""
    return f"plateau {amount(metric, more)}{median}"


def against(metric: AnyMetric, expected: str, bounds: Sequence[float | None]) -> tuple[str, str]:
    """``plateau 46.2 GB/s`` and ``at least 52.6 GB/s (…)``; ``expected`` has ``bounds`` in it. Where the figure would read as a bound
    that it differs from, all have as many more digits as tell them apart."""
    more = more_digits([metric.value], bounds, metric.unit)
    for bound in bounds if more else ():
        for word in ("at least", "at most", "below", "above"):
            if bound is not None:
                short, long = with_unit(bound, metric.unit), with_unit(bound, metric.unit, more=more)
                expected = expected.replace(f"{word} {short}", f"{word} {long}")
    return level(metric, more), expected


def bound_words(reference: Reference, below: bool) -> str:
    """``at least 52.6 GB/s (tuned: 55.5 GB/s; …)``; the origin always stands in it."""
    bound = reference.lowest if below else reference.highest
    least = "at least" if below else "at most"
    amount = "" if bound is None else f"{least} {with_unit(bound, reference.unit)} "
    return f"{amount}({reference.origin_words})"
