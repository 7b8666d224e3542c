"""What ``nearfar-kernels saxpy`` measured, as figures with names, and whether the GPUs' binding is as good as the launcher's.

``docs/reference/document.md`` defines the document's quantities and subjects. Efficiencies are POP's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.base import Finding
from nearfar.measurement import RATIO, Document, SubjectMetric, figure_of

from . import messages

#: Every binding of the program, by its word in the document.
BINDINGS = {
    "default": "as launched",
    "gpu": "bound beside the GPUs",
    "wrong": "bound to the farthest NUMA nodes",
}
#: What the quantities begin with; with host memory in the GPUs' place, with the second.
FAMILIES = ("saxpy.", "saxpy.host.")
#: What every binding is measured for.
QUANTITIES = ("saxpy.load_balance", "saxpy.h2d", "saxpy.d2h")
#: By so much the run time of the GPUs' binding may be above that of the default.
TOLERANCE = 0.03

_EFFICIENCIES = {
    "load_balance": "load balance",
    "communication_efficiency": "communication efficiency",
    "parallel_efficiency": "parallel efficiency",
    "run_time": "time of an iteration",
}
_RATES = {"h2d": "host to device", "d2h": "device to host", "kernel": "saxpy kernel"}


def subject(binding: str) -> str:
    """``saxpy/gpu``: what the document calls the rounds under a binding."""
    return f"saxpy/{binding}"


def what_of(quantity: str) -> str | None:
    """``saxpy.host.h2d`` and ``saxpy.h2d`` as ``h2d``; None for what is not of this program."""
    for family in reversed(FAMILIES):
        if quantity.startswith(family):
            return quantity[len(family) :]
    return None


def results(document: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The results of a raw document by (binding, what)."""
    by_quantity = {}
    for result in document.get("results") or []:
        what, (program, _, binding) = what_of(str(result.get("quantity"))), str(result.get("cell")).partition("/")
        if what is not None and program == "saxpy":
            by_quantity[binding, what] = result
    return by_quantity


def figures(document: Document) -> list[SubjectMetric]:
    """The figures of each binding: efficiencies, time of an iteration, rates of the least, mean and greatest rank, the
    greatest share of a rank in the transfers; then the speed-ups.

    Those of the GPUs' binding are to be judged, the others explain.
    """
    metrics: list[SubjectMetric] = []
    for (binding, what), result in results(document.raw).items():
        if what in _EFFICIENCIES:
            description = f"{_EFFICIENCIES[what]} of all ranks, {BINDINGS.get(binding, binding)}"
            metrics.append(_figure(result, what, binding, result["flows"][0]["rate"], description))
        elif what in _RATES:
            metrics += _over_ranks(result, what, binding)
        elif what == "transfer_imbalance":
            most = max(result["flows"], key=lambda part: float(part["rate"]["median"]))
            description = f"transfers of {_rank(most)} over the mean of all, {BINDINGS.get(binding, binding)}"
            metrics.append(_figure(result, what, binding, most["rate"], description, explains=True))
        elif what == "speedup":
            for part in result["flows"]:
                description = f"speed-up of the GPUs' binding over {BINDINGS.get(part['flow'], part['flow'])}"
                over = f"{binding}.over_{part['flow']}"
                metrics.append(_figure(result, what, over, part["rate"], description, explains=True))
    return metrics


def _figure(
    result: Mapping[str, Any], what: str, name: str, rate: Mapping[str, Any], description: str, explains: bool = False
) -> SubjectMetric:
    quantity = str(result["quantity"])
    binding = str(result["cell"]).partition("/")[2]
    return SubjectMetric(
        **figure_of(result, rate), name=f"{quantity[: -len(what)]}{name}.{what}", words=description, path_class=binding,
        quantity=RATIO if explains or binding != "gpu" else quantity, question=f"{name.removeprefix(f'{binding}.')}.{what}",
    )  # fmt: skip


def _over_ranks(result: Mapping[str, Any], what: str, binding: str) -> list[SubjectMetric]:
    ranked = sorted(result["flows"], key=lambda part: float(part["rate"]["median"]))
    mean = sum(float(part["rate"]["median"]) for part in ranked) / len(ranked)
    way = f"{_RATES[what]}, {BINDINGS.get(binding, binding)}"
    return [
        _figure(result, what, f"{binding}.least", ranked[0]["rate"], f"the slowest rank ({_rank(ranked[0])}), {way}"),
        _figure(result, what, f"{binding}.mean", {"median": mean, "unit": "GB/s"}, f"the mean rank, {way}", True),
        _figure(result, what, f"{binding}.greatest", ranked[-1]["rate"], f"the fastest rank, {way}", True),
    ]


def _rank(part: Mapping[str, Any]) -> str:
    return str(part["flow"]).replace("rank", "rank ")


def findings(document: Document | None) -> list[Finding]:
    """Whether the GPUs' binding is at least as good as the default: not surely slower by more than ``TOLERANCE``.

    With one NUMA node both use the same memory: on healthy machines the ratio was 0.85 to 1.02, so the default is not measured.
    """
    if document is None:
        return []
    known = results(document.raw)
    if len(document.node.host_numa_nodes) == 1:
        return [messages.ONE_MEMORY.finding("binding")] if ("gpu", "h2d") in known else []
    if ("gpu", "h2d") not in known or ("default", "h2d") not in known:
        return [
            messages.NO_BINDING.finding("binding", line=skip.reason)
            for skip in document.skipped
            if skip.cell == subject("gpu") and skip.code == "unsupported"
        ]
    if _places(known["gpu", "h2d"]) == _places(known["default", "h2d"]):
        return [messages.SAME_PLACES.finding("binding")]
    parts = known["gpu", "speedup"]["flows"] if ("gpu", "speedup") in known else []
    return [_compared(part["rate"]) for part in parts if part["flow"] == "default"]


def _places(result: Mapping[str, Any]) -> list[object]:
    return [(part.get("cpus"), part.get("memory_nodes")) for part in result["flows"]]


def _compared(rate: Mapping[str, Any]) -> Finding:
    value, (low, high) = float(rate["median"]), rate["ci"]
    least = 1 - TOLERANCE
    message = messages.SLOWER if high < least else messages.UNSETTLED if value < least else messages.AS_GOOD
    return message.finding(subject("gpu"), ratio=value, low=low, high=high, least=least)
