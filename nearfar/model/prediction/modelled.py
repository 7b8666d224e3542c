"""The measurement document of a node type: the same shape as a measuring program's, marked ``modelled``."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from nearfar import __version__
from nearfar.base import NearfarError, grouped, utc_text
from nearfar.cells import Cell, Flow, Skip
from nearfar.topology import node_to_document

from .ceilings import flow_link, link_ceiling
from .node_types import NodeType
from .rates import Prediction, degraded, predict


def modelled_document(
    node_type: NodeType,
    cells: Sequence[Cell],
    degrade: Mapping[str, float] | None = None,
    noise: float = 0.0,
    seed: int = 0,
    skips: Sequence[Skip] = (),
) -> dict[str, Any]:
    """The document (JSON objects) of ``cells`` on a node of this type, one sample a rate.

    ``degrade`` multiplies capacities by factors. ``noise`` is the standard deviation of the rates' logarithm; it
    depends on ``seed``, cell and flow alone, not on what else is asked. Each result has the prediction's ``basis``; where that is
    ``upper bound`` or ``nominal``, ``unknown`` has the capacities that nobody knows. A cell in which nothing bounds some flow is skipped as
    ``unsupported`` with their names. ``skips`` are listed as given.
    """
    if not 0 <= noise <= 1:
        raise NearfarError(
            f"noise {noise:g}: the standard deviation of the logarithm is a number from 0 to 1, such as 0.005"
        )
    node_type = degraded(node_type, degrade or {})
    results: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = [
        {"cell": str(skip.cell), "reason": skip.reason, "code": skip.code} for skip in skips
    ]
    for cell in dict.fromkeys(cells):
        prediction = predict(cell, node_type)
        if prediction.total is None:
            skipped.append(_skip(cell, prediction))
        else:
            results.append(_result(cell, prediction, node_type, _Noise(noise, seed)))
    return {
        "schema": "nearfar-measurement/2",
        "kind": "modelled",
        "program": {"name": "nearfar predict", "version": __version__},
        "started": utc_text(),
        "seconds": 0,
        "node_type": node_type.name,
        "node": node_to_document(node_type.node),
        "results": results,
        "skipped": skipped,
        "failed": [],
    }


def _skip(cell: Cell, prediction: Prediction) -> dict[str, Any]:
    """A cell whose rates depend on what nobody knows; ``unknown`` has the capacities one by one."""
    names = grouped((capacity.source, capacity.name) for capacity in prediction.unknown)
    reasons = (f"{', '.join(n)} {'is' if len(n) == 1 else 'are'} not known: {why}" for why, n in names.items())
    return {"cell": str(cell), "reason": "; ".join(reasons), "code": "unsupported", "unknown": _unknown(prediction)}


def _unknown(prediction: Prediction) -> list[dict[str, Any]]:
    return [{"capacity": capacity.name, "why": capacity.source} for capacity in prediction.unknown]


class _Noise:
    """Factors around 1, reproducible for each figure whatever the order of the cells."""

    def __init__(self, sigma: float, seed: int) -> None:
        self.sigma = sigma
        self.seed = seed

    def factor(self, *figure: object) -> float:
        if self.sigma == 0:
            return 1.0
        return math.exp(random.Random(f"{self.seed} {' '.join(map(str, figure))}").gauss(0.0, self.sigma))


def _result(cell: Cell, prediction: Prediction, node_type: NodeType, noise: _Noise) -> dict[str, Any]:
    flows = []
    for flow, rate in prediction.flows.items():
        assert rate is not None, "a prediction with a total has rates"
        value = rate * noise.factor(cell, flow)
        entry: dict[str, Any] = {"flow": str(flow), "rate": _rate(value)}
        if flow.tasks > 1:
            entry["tasks"] = _rate(value / flow.tasks, flow.tasks)
        if not cell.lone:
            alone = predict(Cell((flow,)), node_type)
            if alone.total is not None and not alone.unknown:
                entry["solo"] = _rate(alone.total * noise.factor(flow, flow))
        entry["ceiling"] = _ceiling(flow, node_type)
        flows.append(entry)
    result: dict[str, Any] = {
        "quantity": "stream" if all(flow.kernel for flow in cell.flows) else "copy",
        "cell": str(cell),
        "converged": True,
        "verified": True,
        "limited_by": list(prediction.limited_by),
        "basis": prediction.basis,
        "flows": flows,
    }
    if prediction.unknown:
        result["unknown"] = _unknown(prediction)
    if not cell.lone:
        result["total"] = _rate(sum(entry["rate"]["median"] for entry in flows))
    return result


def _rate(value: float, n: int = 1) -> dict[str, Any]:
    return {
        "unit": "GB/s",
        "median": value,
        "mad": 0.0,
        "ci": [value, value],
        "min": value,
        "max": value,
        "n": n,
        "samples": [value] * n,
    }


def _ceiling(flow: Flow, node_type: NodeType) -> float | None:
    if flow.kind == "gpu_stream" and flow.source == flow.destination:
        memory = node_type.capacities.get(f"g{flow.gpus[0]}.memory")
        return None if memory is None else memory.best
    link = flow_link(flow, node_type.node)
    return None if link is None else link_ceiling(link)
