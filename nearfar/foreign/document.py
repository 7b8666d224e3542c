"""The measurement document of several outputs of one node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from nearfar import measurement
from nearfar.base import NearfarError
from nearfar.cells import Cell, CellError, Flow, parse
from nearfar.measurement import Document
from nearfar.model import link_limits
from nearfar.model.prediction import link_ceiling, peer_link
from nearfar.topology import Node, node_to_document

from .output import NEAR, SOME_HOST, ForeignFigure, ForeignOutput, LeftOut

#: The kind of the document, and the basis of its figures.
KIND = measurement.OF_ANOTHER_TOOL


def make(outputs: Sequence[ForeignOutput], node: Node, numbers: Mapping[int, int], numa: int | None) -> Document:
    """One document of all outputs. ``numbers``: the node's numbers of the tools' GPUs; ``numa``: the NUMA node whose host memory those
    tools used that do not say which (None: the one near each GPU)."""
    results: dict[object, dict[str, Any]] = {}
    for output in outputs:
        for figure in output.figures:
            if re.search(
                rf"\b[{NEAR}{SOME_HOST}]\b", " ".join(_named(text, node, numbers, numa) for text, _ in figure.rates)
            ):
                continue  # ``unplaced`` says so
            entry = _result(output, figure, node, numbers, numa)
            key = (entry["quantity"], measurement.subject_key(entry["cell"]), entry.get("bytes"))
            if key in results:
                _merge(results[key], entry)
            else:
                results[key] = entry
    described = node_to_document(node)
    software = {key: value for output in outputs for key, value in output.software.items()}
    described["software"] = {**described["software"], **software}
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
    return measurement.from_raw(raw, "the imported files")


def unplaced(output: ForeignOutput, node: Node, numbers: Mapping[int, int], numa: int | None) -> LeftOut | None:
    """That nobody knows which host memory the copies of a tool used; None where it is known."""
    texts = [_named(text, node, numbers, numa) for figure in output.figures for text, _ in figure.rates]
    if any(re.search(rf"\b{SOME_HOST}\b", text) for text in texts):
        why = "it does not say which NUMA node it ran on: import it with --numa N"
        return LeftOut("host to device and back", why, "host_device_check")
    if any(re.search(rf"\b{NEAR}\b", text) for text in texts):
        why = "the topology does not say which NUMA node is near each GPU"
        return LeftOut("host to device and back", why, "host_device_check")
    return None


def part(document: Document, results: Sequence[int], with_failed: bool) -> Document:
    """The same document with some of its results, and with what failed or without it."""
    raw = document.raw
    chosen, failed = [raw["results"][index] for index in results], raw["failed"] if with_failed else []
    return measurement.from_raw({**raw, "results": chosen, "failed": failed}, document.source)


def _result(
    output: ForeignOutput, figure: ForeignFigure, node: Node, numbers: Mapping[int, int], numa: int | None
) -> dict[str, Any]:
    method = {"method": f"{output.title}: {figure.name}"}
    size = {} if figure.bytes is None else {"bytes": figure.bytes}
    if figure.quantity not in measurement.CELL_QUANTITIES:
        ((subject, rate),) = figure.rates
        flows = [{"flow": subject, "rate": _rate([rate or 0.0], figure.unit)}]
        return {
            "quantity": figure.quantity,
            "cell": subject,
            **size,
            "converged": True,
            "basis": KIND,
            "flows": flows,
            **method,
        }
    total = sum(rate or 0.0 for _, rate in figure.rates) if figure.total is None else figure.total
    texts = [_named(text, node, numbers, numa) for text, _ in figure.rates]
    cell = _cell("+".join(texts))
    # Of a total each flow has its part: all move the same bytes in the time of all.
    rates = [total / len(texts) if rate is None else rate for _, rate in figure.rates]
    flows = [
        {"flow": str(flow), "rate": _rate([rate], figure.unit), **_ceiling(flow, node)}
        for flow, rate in ((_cell(text).flows[0], rate) for text, rate in zip(texts, rates))
    ]
    together = {} if cell.lone else {"total": _rate([total], figure.unit)}
    return {
        "quantity": figure.quantity,
        "cell": str(cell),
        **size,
        "converged": True,
        "basis": KIND,
        "flows": flows,
        **together,
        **method,
    }


def _cell(text: str) -> Cell:
    try:
        return parse(text)
    except CellError as error:
        raise NearfarError(f"the files have figures of '{text}', which is no cell ({error.what})") from None


def _named(text: str, node: Node, numbers: Mapping[int, int], numa: int | None) -> str:
    """A flow in the node's own numbers."""
    text = re.sub(r"\bg(\d+)\b", lambda found: f"g{numbers.get(int(found[1]), int(found[1]))}", text)
    found = re.search(r"\bg(\d+)\b", text)
    gpu = node.gpu(int(found[1])) if found else None
    own = None if gpu is None else gpu.numa_node
    memories = [memory.index for memory in node.host_numa_nodes]
    only = memories[0] if len(memories) == 1 else None
    for end, known in ((NEAR, own if only is None else only), (SOME_HOST, numa if only is None else only)):
        text = text if known is None else re.sub(rf"\b{end}\b", f"n{known}", text)
    return text


def _ceiling(flow: Flow, node: Node) -> dict[str, Any]:
    """What the flow's link carries of payload, where that is known."""
    gpus = [gpu for index in flow.gpus if (gpu := node.gpu(index)) is not None]
    link = None
    if flow.kind == "host" and gpus:
        link = link_limits.nominal_link(gpus[0])
    elif flow.kind == "peer" and len(gpus) == 2 and not flow.staged:
        link = peer_link(node, *flow.gpus)
    most = None if link is None or link.kind not in ("pcie", "nvlink") else link_ceiling(link, flow.direction)
    return {} if most is None else {"ceiling": most}


def _rate(samples: list[float], unit: str) -> dict[str, Any]:
    """A figure of an output; of several what the path can do is the best of them."""
    if len(samples) == 1:
        return {"unit": unit, "median": samples[0], "n": 1}
    low, high, middle = min(samples), max(samples), median(samples)
    if high <= 0:
        return {"unit": unit, "median": middle, "n": len(samples)}
    return {
        "unit": unit, "median": middle, "n": len(samples), "min": low, "max": high, "samples": samples,
        "plateau": high, "interval": [low, high], "steadiness": middle / high,
    }  # fmt: skip


def _merge(entry: dict[str, Any], other: dict[str, Any]) -> None:
    """The same figure of another output becomes another sample."""

    def both(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
        return _rate([*one.get("samples", [one["median"]]), two["median"]], one["unit"])

    by_flow = {flow["flow"]: flow["rate"] for flow in other["flows"]}
    for flow in entry["flows"]:
        flow["rate"] = both(flow["rate"], by_flow[flow["flow"]])
    if "total" in entry:
        entry["total"] = both(entry["total"], other["total"])
    if other["method"] not in entry["method"].split("; "):
        entry["method"] += f"; {other['method']}"
