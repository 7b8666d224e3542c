"""The decisions as a document: ``nearfar-delivery/1``."""

from __future__ import annotations

import json
from typing import Any

import nearfar
from nearfar.base import utc_text

from .decision import DeliveredFigure, DeliveredNode, Delivery

SCHEMA = "nearfar-delivery/1"


def text(delivery: Delivery) -> str:
    """The document as JSON text, ending in a newline."""
    order = {key: value for key, value in vars(delivery.order).items() if key not in ("promised", "file")}
    document = {
        "schema": SCHEMA,
        "program": {"name": "nearfar", "version": nearfar.__version__},
        "made": utc_text(),
        "order": {
            **order, "file": None if delivery.order.file is None else str(delivery.order.file),
            "promised": [vars(promise) for promise in delivery.order.promised],
        },
        "against": delivery.against,
        "counts": delivery.counts,
        "findings": [finding.to_raw() for finding in delivery.findings],
        "nodes": [_node(node) for node in delivery.nodes],
        "figures": [_figure(figure) for figure in delivery.figures],
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _node(node: DeliveredNode) -> dict[str, Any]:
    return {
        **vars(node), **{key: [each.to_raw() for each in getattr(node, key)] for key in ("evidence", "missing", "waived")},
        "gpus": [vars(gpu) for gpu in node.gpus], "runs": [vars(run) for run in node.runs],
    }  # fmt: skip


def _figure(figure: DeliveredFigure) -> dict[str, Any]:
    return {**vars(figure), "expected": [vars(each) for each in figure.expected]}
