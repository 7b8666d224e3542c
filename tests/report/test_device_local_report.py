"""A page with copies within one GPU's memory: figures beside others, a curve, words for what they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nearfar import report
from nearfar.cells import Cell, parse
from nearfar.topology import node_from_document
from tests.data.runs.many_gpus import document, judged
from tests.data.runs.synthetic import Run, make_node
from tests.report.test_report import Page

CELLS = ("g0:g0", "g1:g1", "g2:g2", "g3:g3", "g0:g0/sm", "g0:g0+g1:g1", "g0:g0+n0:g0")


def rates(cell: Cell) -> list[float]:
    """GPU 2's memory is slow."""
    known = {"g2:g2": 1200.0, "n0:g0": 54.0}
    return [known.get(str(flow), 1440.0) for flow in cell.flows]


@pytest.mark.parametrize("check", ["peer_check", "host_device_check"])
def test_figures_within_a_gpu_are_told(tmp_path: Path, check: str) -> None:
    raw = make_node("h200-vm", gpus=[0] * 4, nvlink="NV18", cores=64)
    run = Run(tmp_path, "local", ["local"], hostname="h200-vm")
    run.node("h200-vm", raw)
    made = document(raw, [parse(cell) for cell in CELLS], rates)
    for size, rate in ((1 << 12, 2.0), (1 << 20, 400.0)):  # a curve beside the largest size
        flows = [{"flow": "g0:g0", "rate": made.rate(rate)}]
        made.raw["results"].append(
            {
                "quantity": "copy",
                "cell": "g0:g0",
                "bytes": size,
                "converged": True,
                "verified": True,
                "flows": flows,
                "seconds": 0.1,
                "method": "latched",
            }
        )
    made.raw["curves"] = [{"cell": "g0:g0", "half_bandwidth_bytes": 3 << 20}]
    run.check("h200-vm", judged(made, check, node_from_document(raw)), made)
    written = run.finish()
    path = report.build(written)
    page = Page(path)
    assert "both directions at once" not in page.text
    for words in (
        "within the GPU",
        "GPU 2, within its memory: 1199.5 GB/s, expected at least 1367.8 GB/s",
        "Within one GPU",
    ):
        assert words in page.text.replace("\u202f", " "), words
    assert all(page.places)
    assert re.search(
        r"DEGRADED .*within the GPU copy: g2→g2 +1199 GB/s +1440 +83 %", report.summary(written, colour=False)
    )
