"""Documents that programs of the pack printed with ``--json`` (``--document``), as figures beside those of a run's checks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError
from nearfar.measurement import PROGRAM, AnyMetric, Document, from_raw, program_subject
from nearfar.question import questions
from nearfar.topology import Node


def load(path: Path) -> Document:
    """What ``nearfar-copy``, ``nearfar osu`` or ``nearfar cost`` printed, measured on a node."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NearfarError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise NearfarError(f"{path}: not a JSON document: name what a program printed with --json") from None
    cost = isinstance(raw, dict) and str(raw.get("schema")).startswith("nearfar-cost/")
    read = _of_cost(raw, str(path)) if cost else from_raw(raw, str(path))
    if read.kind != "measured":
        raise NearfarError(f"{path}: its figures are {read.kind}: name what was measured on a node")
    return read


def figures_of(read: Document) -> list[AnyMetric]:
    """The figures of every check that the document's program answers, each once; after idling their names begin with ``idle.``."""
    program = read.raw["program"]
    before = "idle." if "--idle" in program.get("command", ()) else ""
    figures = {
        m.name: m for each in questions() if each.program == program["name"] for m in each.figures(read, read.node)
    }
    return [replace(metric, name=f"{before}{name}") for name, metric in figures.items()]


def named_results(raw: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each result that is of no cell, by ``quantity:subject@bytes``."""
    for result in raw.get("results", ()):
        flows = result.get("flows") or ()
        rate = flows[0]["rate"] if flows else result.get("total")
        if rate is not None and "bytes" in result:
            yield f"{result['quantity']}:{result['cell']}@{result['bytes']}", rate["median"]


def _of_cost(raw: Mapping[str, Any], source: str) -> Document:
    """The schemes of ``nearfar-cost/1`` as ``binding_check`` has those of the site's programs."""
    flows = [
        {"flow": scheme["name"], "rate": {"unit": "1", "median": 1 + scheme["penalty"]["value"], "n": scheme["penalty"]["pairs"]}}
        for scheme in raw["schemes"]
        if scheme["penalty"] is not None
    ]  # fmt: skip
    name = Path(raw["command"][0]).name
    result = {
        "quantity": PROGRAM,
        "cell": program_subject(name),
        "flows": flows,
        "converged": True,
        "reference": raw["plan"]["reference"],
    }
    node = Node(hostname=raw["node"]["hostname"], packages=(), numa_nodes=())
    whole = {"kind": "measured", "program": {"name": "nearfar cost"}, "results": [result]}
    return Document(whole, source, node, (), (), ())
