"""Runs that look measured, of any node type: the model's figures with factors on cells, judged for real. Nothing here was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar import measurement, verdict
from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import load_node_type, modelled_document
from nearfar.topology import node_to_document
from nearfar.verdict.document_findings import CaseInfo
from tests.data.runs.modelled import cells_of
from tests.data.runs.synthetic import STARTED, Run

SITE = CHECKOUT / "site"


class Document:
    """What ``Run.check`` takes of a document."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw


def write(
    directory: Path, name: str, slow: Mapping[str, float] | None = None, checks: Sequence[str] = ("host_device_check",)
) -> Path:
    """A run of one node, ``kid107``, that is of the node type ``name``; the cells of ``slow`` have so many times the model's figure."""
    node_type = load_node_type(name, [SITE])
    run = Run(directory, "mine", ["mine"], hostname="kid107")
    run.node("kid107", {**node_to_document(node_type.node), "hostname": "kid107"})
    for check in checks:
        raw = modelled_document(node_type, cells_of(node_type.node)[check], {}, 0.0, 1)
        raw.update(kind="measured", program={"name": "nearfar-copy"}, started=STARTED)
        raw["node"]["hostname"] = "kid107"
        for result in raw["results"]:
            for rate in (flow["rate"] for flow in result["flows"]):
                rate["median"] *= (slow or {}).get(result["cell"], 1.0)
        document = from_raw(json.loads(json.dumps(raw)))
        metrics = measurement.metrics(document, node_type.node)
        subject = CaseInfo(check, "mine", "gpu", "system", "kid107", STARTED)
        judged = verdict.judge(document, {}, subject=subject, metrics=metrics)
        run.check("kid107", judged, Document(document.raw))  # type: ignore[arg-type]
    return run.finish()
