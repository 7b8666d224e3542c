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
        "cells": [_comparison(one) for one in calibration.comparisons],
        "unexplained": [str(cell) for cell in calibration.unexplained],
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    return {
        "cell": str(one.measured.cell),
        "calibrates": one.calibrates,
        "measured": one.measured.total,
        "predicted": None if one.predicted is None else sum(one.predicted),
        "deviation": one.deviation,
        "flows": [
            {"flow": str(flow), "measured": rate, "predicted": None if one.predicted is None else one.predicted[place]}
            for place, (flow, rate) in enumerate(zip(one.measured.cell.flows, one.measured.rates))
        ],
        "limited_by": list(one.limited_by),
        "never_seen_full": list(one.hangs_on),
    }
