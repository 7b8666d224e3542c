"""The measurement document of several outputs of one node."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from nearfar import measurement
from nearfar.cells import Flow, parse
from nearfar.measurement import Document
from nearfar.model.prediction import flow_link, link_ceiling
from nearfar.question import of_other_tools
from nearfar.topology import Node, node_to_document

from .output import NEAR, SOME_HOST, ForeignFigure, ForeignOutput, LeftOut

#: The kind of the document, and the basis of its figures.
KIND = measurement.OF_ANOTHER_TOOL
_UNPLACED = {
    SOME_HOST: "it does not record which NUMA node it ran on: import it with --numa N",
    NEAR: "the topology does not record which NUMA node is near each GPU",
}
#: Bytes of the least copy that shows what its path can do: each has a start-up of some 10 us.
_SHORT = 16e6
_TOO_SHORT = "their start-up is a large part of their time"


def make(
    outputs: Sequence[ForeignOutput], node: Node, numbers: Mapping[int, int], numa: int | None
) -> tuple[Document, list[tuple[str, LeftOut]], dict[str, int]]:
    """One document of all outputs; which figures it lacks, and why; and how often each tool whose
    output names no host measured the same (only tools that did so more than once).

    ``numbers``: the node's numbers of the tools' GPUs; ``numa``: the NUMA node whose host memory those tools used that do not say which.
    """
    results: dict[object, dict[str, Any]] = {}
    unplaced = []
    times: Counter[tuple[str, str, object]] = Counter()
    for output, figure in ((each, figure) for each in outputs for figure in each.figures):
        texts = [_named(text, node, numbers, numa) for text, _ in figure.rates]
        if unknown := re.search(rf"\b[{NEAR}{SOME_HOST}]\b", " ".join(texts)):
            left = LeftOut("host to device and back", _UNPLACED[unknown[0]], of_other_tools.HOST_DEVICE)
            unplaced.append((output.title, left))
            continue
        if figure.quantity in measurement.CELL_QUANTITIES and (figure.bytes or _SHORT) < _SHORT:
            check = of_other_tools.check_of(parse("+".join(texts)))
            unplaced.append((output.title, LeftOut("copies of less than 16 MB", _TOO_SHORT, check)))
            continue
        entry = _result(output, figure, texts, node)
        key = (entry["quantity"], measurement.subject_key(entry["cell"]), entry.get("bytes"))
        _merge(results.setdefault(key, entry), entry)
        times[output.title, figure.name, (*texts, figure.bytes)] += output.hostname is None
    described = node_to_document(node)
    described["software"] |= {key: value for output in outputs for key, value in output.software.items()}
    tools = [output for output in outputs if output.node is None]
    commands = list(dict.fromkeys(output.command or (output.tool,) for output in tools))
    raw = {
        "schema": measurement.SCHEMA, "kind": KIND,
        "program": {
            "name": ", ".join(dict.fromkeys(output.tool for output in tools)),
            "version": ", ".join(dict.fromkeys(output.version for output in tools if output.version)),
            "command": [word for command in commands for word in (*command, ";")][:-1],
        },
        "node": described, "results": list(results.values()), "skipped": [],
        "failed": [{"cell": "", "code": code, "reason": f"{o.title}: {words}"} for o in tools for code, words in o.failed],
    }  # fmt: skip
    repeated = {title: count for (title, *_), count in reversed(times.most_common()) if count > 1}
    block = next((output.nccl for output in tools if output.nccl is not None), None)
    return measurement.from_raw({**raw, **({"nccl": block} if block else {})}, "the imported files"), unplaced, repeated


def part(document: Document, results: Sequence[int], with_failed: bool) -> Document:
    """The same document with some of its results, and with what failed or without it."""
    raw = document.raw
    chosen, failed = [raw["results"][index] for index in results], raw["failed"] if with_failed else []
    return measurement.from_raw({**raw, "results": chosen, "failed": failed}, document.source)


def _result(output: ForeignOutput, figure: ForeignFigure, texts: Sequence[str], node: Node) -> dict[str, Any]:
    subject = texts[0]
    more: dict[str, Any] = {} if figure.bytes is None else {"bytes": figure.bytes}
    total = sum(rate or 0.0 for _, rate in figure.rates) if figure.total is None else figure.total
    # Of a total each flow has its part: all move the same bytes in the time of all.
    rates = [total / len(texts) if rate is None else rate for _, rate in figure.rates]
    flows: list[dict[str, Any]] = [
        {"flow": text, "rate": _rate([rate], figure.unit)} for text, rate in zip(texts, rates)
    ]
    if figure.quantity in measurement.CELL_QUANTITIES:
        cell = parse("+".join(texts))
        subject, more = str(cell), more | ({} if cell.lone else {"total": _rate([total], figure.unit)})
        for text, flow in zip(texts, flows):
            lone = parse(text).flows[0]
            flow |= {"flow": str(lone), **_ceiling(lone, node)}
    method = f"{output.title}: {figure.name}"
    return {
        "quantity": figure.quantity,
        "cell": subject,
        "converged": True,
        "basis": KIND,
        "flows": flows,
        **more,
        "method": method,
    }


def _named(text: str, node: Node, numbers: Mapping[int, int], numa: int | None) -> str:
    """A flow in the node's own numbers."""
    text = re.sub(r"\bg(\d+)\b", lambda found: f"g{numbers.get(int(found[1]), int(found[1]))}", text)
    found = re.search(r"\bg(\d+)\b", text)
    gpu = node.gpu(int(found[1])) if found else None
    memories = [memory.index for memory in node.host_numa_nodes]
    only = memories[0] if len(memories) == 1 else None
    near = only if only is not None or gpu is None else gpu.numa_node
    for end, known in ((NEAR, near), (SOME_HOST, numa if only is None else only)):
        text = text if known is None else re.sub(rf"\b{end}\b", f"n{known}", text)
    return text


def _ceiling(flow: Flow, node: Node) -> dict[str, Any]:
    """What the flow's link carries of payload, where that is known."""
    link = flow_link(flow, node)
    most = None if link is None or link.kind not in ("pcie", "nvlink") else link_ceiling(link)
    return {} if most is None else {"ceiling": most}


def _rate(samples: list[float], unit: str) -> dict[str, Any]:
    """A figure of an output; of several what the path can do is the best of them."""
    low, high, middle = min(samples), max(samples), median(samples)
    rate = {"unit": unit, "median": middle, "n": len(samples)}
    if len(samples) == 1 or middle <= 0:
        return rate
    return {
        **rate,
        "min": low,
        "max": high,
        "samples": samples,
        "plateau": high,
        "interval": [low, high],
        "steadiness": middle / high,
    }


def _merge(entry: dict[str, Any], other: dict[str, Any]) -> None:
    """The same figure of another output becomes another sample."""

    def both(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
        return _rate([*one.get("samples", [one["median"]]), two["median"]], one["unit"])

    if entry is other:
        return
    by_flow = {flow["flow"]: flow["rate"] for flow in other["flows"]}
    for flow in entry["flows"]:
        flow["rate"] = both(flow["rate"], by_flow[flow["flow"]])
    if "total" in entry:
        entry["total"] = both(entry["total"], other["total"])
    if other["method"] not in entry["method"].split("; "):
        entry["method"] += f"; {other['method']}"
