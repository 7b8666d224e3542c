"""Runs of a modelled node, with faults and noise where they are asked for: predicted, judged for real. Nothing here was measured.

``python -m tests.data.runs.modelled DIRECTORY summit g2.d2h=0.5`` writes one, to be looked at.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar import measurement, verdict
from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.cells import Cell, host_device_matrix, peer_matrix, saturation_ramps, sharing_ramps, stream_matrix
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import load_node_type, modelled_document
from nearfar.topology import Node
from nearfar.verdict import references
from nearfar.verdict.document_findings import CaseInfo
from tests.data.runs.synthetic import STARTED, Run

SITE = CHECKOUT / "site"


def cells_of(node: Node) -> dict[str, list[Cell]]:
    """The cells that each check asks for."""
    return {
        "host_memory_check": stream_matrix(node),
        "host_device_check": host_device_matrix(node)[0],
        "peer_check": peer_matrix(node)[0],
        "saturation_check": saturation_ramps(node)[0],
        "sharing_check": sharing_ramps(node)[0],
    }


class _Document:
    """What ``Run.check`` takes of a document."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw


def write(directory: Path, name: str = "summit", degrade: Mapping[str, float] | None = None, noise: float = 0.005,
          seed: int = 1, sites: Sequence[Path] = (SITE,)) -> Path:  # fmt: skip
    """The run of the node type ``name``, as ``nearfar predict --degrade … --noise … --seed …`` answers its checks."""
    node_type = load_node_type(name, list(sites))
    files = references.for_partition(name, node_type, list(sites))
    run = Run(directory, name, [], [name], hostname="login")
    for check, cells in cells_of(node_type.node).items():
        raw = modelled_document(node_type, cells, degrade or {}, noise, seed)
        document = from_raw(raw)
        metrics = measurement.metrics(document, node_type.node)
        found = references.resolve(metrics, check, files, node_type.node, kind="modelled", node_type=node_type)
        subject = CaseInfo(check, name, "gpu", "system", name, STARTED)
        judged = verdict.judge(document, found, subject=subject, metrics=metrics, asked=cells, kind="modelled")
        run.check(f"{name}-modelled", judged, _Document(raw))  # type: ignore[arg-type]
    run.finish()
    # What is modelled counts for nothing.
    (directory / "run.json").write_text(json.dumps({**run.raw, "verdict": "PASS", "exit_code": 0}))
    return directory


if __name__ == "__main__":
    from nearfar import report

    where, which, *faults = sys.argv[1:]
    page = report.build(write(Path(where), which, {f.split("=")[0]: float(f.split("=")[1]) for f in faults}))
    print(report.summary(page.parent, colour=False))
