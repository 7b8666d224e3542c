"""A calibration as JSON objects."""

from __future__ import annotations

from typing import Any

from .node_calibration import Calibration, Comparison


def as_json(calibration: Calibration, kind: str, source: str) -> dict[str, Any]:
    """``nearfar-calibration/1``: capacities in GB/s with their evidence, and each measured cell beside its prediction.

    ``kind`` and ``source`` are those of the document that the cells are from.
    """
    return {
        "schema": "nearfar-calibration/1",
        "kind": kind,
        "node_type": calibration.node_type.name,
        "source": source,
        "unit": "GB/s",
        "capacities": {
            name: {
                "kind": e.kind,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "class": list(e.members),
                "cells": [str(cell) for cell in e.cells],
            }
            for name, e in calibration.estimates.items()
        },
        "weights": {
            name: {"read": c.read_weight, "write": c.write_weight, "read_share": c.read_share, "mixed": c.mixed_weight}
            for name, c in calibration.node_type.capacities.items()
            if name.endswith(".memory") and c.value is not None
        },
        "cells": [_comparison(row) for row in calibration.comparisons],
        "unexplained": [str(cell) for cell in calibration.unexplained],
    }


def _comparison(row: Comparison) -> dict[str, Any]:
    return {
        "cell": str(row.measured.cell),
        "calibrates": row.calibrates,
        "measured": row.measured.total,
        "predicted": None if row.predicted is None else sum(row.predicted),
        "deviation": row.deviation,
        "flows": [
            {"flow": str(flow), "measured": rate, "predicted": None if row.predicted is None else row.predicted[place]}
            for place, (flow, rate) in enumerate(zip(row.measured.cell.flows, row.measured.rates))
        ],
        "limited_by": list(row.limited_by),
        "never_seen_full": list(row.hangs_on),
    }
