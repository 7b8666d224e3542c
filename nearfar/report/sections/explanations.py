"""What explains a node's figures beside its verdicts: its capacities, and the parts that are degraded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from nearfar.verdict import NodeRun, RunDirectory

from .capacities import Capacities, capacities
from .faults import Faults, faults
from .merged_document import merged


@dataclass(frozen=True)
class Explained:
    """Of one node; None where there is nothing to explain."""

    capacities: Capacities | None = None
    faults: Faults | None = None

    def as_json(self) -> dict[str, Any]:
        """``calibration`` and ``diagnosis`` of ``report.json``."""
        found: dict[str, Any] = {}
        if self.capacities is not None:
            found["calibration"] = self.capacities.found or {"note": self.capacities.note}
        if self.faults is not None:
            found["diagnosis"] = {**(self.faults.found or {}), "sentence": self.faults.sentence}
        return found


def explain(run: RunDirectory) -> dict[str, Explained]:
    """Each node's, by its folder."""
    return {node.folder.name: _explain(node) for node in run.nodes}


def _explain(node: NodeRun) -> Explained:
    document = cache(lambda: merged(node))
    return Explained(capacities(node, document), faults(node, document))


def sentences(report: Mapping[str, Any]) -> dict[str, str]:
    """The diagnosis of each node that has one, by its folder, out of what ``report.json`` says."""
    nodes = (node for node in report.get("nodes") or [] if isinstance(node, dict))
    return {str(n["folder"]): str(n["diagnosis"]["sentence"]) for n in nodes if "diagnosis" in n}
