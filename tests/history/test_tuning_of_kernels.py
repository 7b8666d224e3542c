"""References of matrix products from runs of ``gemm_check``: what ran with clocks held down or while memory erred makes none."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar import question, verdict
from nearfar.topology import node_to_document
from nearfar.verdict import CaseInfo
from tests.data.runs.synthetic import Run
from tests.history.tuned_site import tuned
from tests.support import kernel_documents as made

NODE = made.node_type("h200-x2-vm")
CHECK = question.named("gemm_check")
#: What is wrong with the figures of a host, and by how much its GPUs are slower.
HOSTS: tuple[tuple[Mapping[str, Any], float], ...] = (
    *(({}, 1.0),) * 10,
    ({"state": {"throttle": ["hw_thermal"]}}, 0.6),
    ({"ecc_errors": {"corrected": 2}}, 0.7),
)


def night(folder: Path, day: int, chance: random.Random) -> Path:
    """A run of all hosts."""
    started = f"2026-11-{day:02}T03:00:00Z"
    run = Run(folder / f"r{day}", "redwood", ["redwood"], hostname="admin")
    for host, (wrong, slow) in enumerate(HOSTS):
        gpus = tuple(replace(gpu, uuid=f"GPU-{host}-{gpu.index}") for gpu in NODE.node.gpus)
        node = replace(NODE.node, hostname=f"gpu{host:03}", gpus=gpus)
        results = [
            entry for gpu in ("g0", "g1") for entry in made.results_of(NODE, f"{gpu}.n0", "sgemm", "today", **wrong)
        ]
        for entry in results:
            if entry["quantity"].endswith(".rate"):
                entry["flows"][0]["rate"] = made.rate("GFLOP/s", 50_000 * slow * chance.gauss(1, 0.002))
        document = made.document(NODE, results, started=started)
        document.raw["node"] = node_to_document(node)
        figures = CHECK.figures(document, node)
        subject = CaseInfo(CHECK.name, "redwood", "gpu", "system", node.hostname, started)
        run.node(node.hostname, document.raw["node"])
        run.check(node.hostname, verdict.judge(document, {}, subject=subject, metrics=figures), document)
    return run.finish()


def test_marked_figures_make_no_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(1)
    found = tuned([night(tmp_path, day, chance) for day in (1, 2, 3)], tmp_path, monkeypatch, CHECK.name)
    said = capsys.readouterr().err
    assert "6 with clocks held down" in said and "6 while memory erred" in said, said
    (row,) = found
    assert (row.check, row.model, row.name, row.unit) == (
        CHECK.name,
        "NVIDIA H200",
        "device_local.sgemm_today_rate",
        "GFLOP/s",
    )
    assert row.value == pytest.approx(50_000, rel=0.01) and row.lowest is not None and row.lowest > 40_000
