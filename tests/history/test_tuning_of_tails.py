"""Rows of single transfers from runs of ``tail_check``: recorded, tuned, and read again by a judge."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import measurement, verdict
from nearfar.topology import node_to_document
from nearfar.verdict import CaseInfo
from tests.data.runs import gpu_memory
from tests.data.runs.synthetic import Run
from tests.history.tuned_site import tuned
from tests.question import test_tail

PATHS = ("n0:g0", "g0:n0", "n0:g1", "g1:n0")


def night(folder: Path, day: int, chance: random.Random) -> Path:
    """A run of three hosts, whose slowest transfers differ a little."""
    started = f"2026-11-{day:02}T03:00:00Z"
    run = Run(folder / f"r{day}", "redwood", ["redwood"], hostname="admin")
    for host in range(3):
        gpus = tuple(replace(gpu, uuid=f"GPU-{host}-{gpu.index}") for gpu in test_tail.NODE.gpus)
        node = replace(test_tail.NODE, hostname=f"gpu{host:03}", gpus=gpus)
        slow = {path: replace(test_tail.USUAL, worst=300 * (1.04 + chance.expovariate(40))) for path in PATHS}
        document = replace(test_tail.document_of(slow), node=node)
        document.raw.update(gpu_memory.raw("gpu_memory_check"), results=[], started=started)
        document.raw["node"] = node_to_document(node)
        subject = CaseInfo("tail_check", "redwood", "gpu", "system", node.hostname, started)
        judged = verdict.judge(document, {}, subject=subject, metrics=measurement.metrics(document, node))
        run.node(node.hostname, document.raw["node"])
        run.check(node.hostname, judged, gpu_memory._Document(document.raw))  # type: ignore[arg-type]
    return run.finish()


def test_the_slowest_transfers_are_tuned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(1)
    found = tuned([night(tmp_path, day, chance) for day in (1, 2, 3)], tmp_path, monkeypatch, "tail_check")
    assert "left out: nothing" in capsys.readouterr().err
    rows = {row.name: row for row in found}
    assert set(rows) == {f"sole_tail_{what}.{way}" for what in ("p99", "worst") for way in ("h2d", "d2h")}
    for way in ("h2d", "d2h"):
        worst = rows[f"sole_tail_worst.{way}"]
        assert worst.lower is None and worst.highest is not None and worst.as_expected[1] is not None
        assert 2 < worst.as_expected[1] <= 8.001 and 11.99 <= worst.highest <= 16.01


def test_a_high_percentile_may_double(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On shared hosts it comes and goes by half (docs/references.md); several times as much is a fault."""
    chance = random.Random(1)
    rows = {
        row.name: row
        for row in tuned([night(tmp_path, day, chance) for day in (1, 2, 3)], tmp_path, monkeypatch, "tail_check")
    }
    for way in ("h2d", "d2h"):
        row = rows[f"sole_tail_p99.{way}"]
        degraded, fail = row.as_expected[1], row.highest
        assert degraded is not None and fail is not None
        assert 2 * row.value <= degraded < fail <= 8.01 * row.value, (row.value, degraded, fail)
