"""What of a week's results is read: all that is new, and the older ones of nodes with a FAIL among it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from nearfar.slurm.gather import Window, gather
from tests.node_results import leave

NOW = float(int(time.time()))
DAY = 86400.0


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def left(results: Path, node: str, run: str, days_ago: float, speed: float = 55.0) -> Path:
    """A result that came so long ago."""
    place = leave(results, node, run, at=NOW - days_ago * DAY, speed=speed)
    os.utime(place, (NOW - days_ago * DAY,) * 2)
    return place


def read(results: Path, *whole: str) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    window = Window(NOW - 8.5 * DAY, NOW - 1.5 * DAY, whole)
    found = gather(results, None, "vm", frozenset({os.geteuid()}), NOW, window)
    return sorted((run.node, run.run) for run in found.runs), found.refused


def test_older_results_are_read_where_they_may_decide(results: Path) -> None:
    left(results, "n1", "00000001", 0.5)
    left(results, "n1", "00000002", 3)
    left(results, "n2", "00000003", 0.5, speed=27.0)
    left(results, "n2", "00000004", 3, speed=27.0)
    left(results, "n2", "00000005", 9, speed=27.0)
    left(results, "n3", "00000006", 3, speed=27.0)
    new = [("n1", "00000001"), ("n2", "00000003")]
    assert read(results)[0] == sorted([*new, ("n2", "00000004")]), "its confirming run"
    assert read(results, "n3")[0] == sorted([*new, ("n2", "00000004"), ("n3", "00000006")]), "as for a drained node"


def test_what_is_not_believed_is_told_while_it_may_decide(results: Path) -> None:
    for days, run in ((0.5, "00000001"), (3, "00000002")):
        place = left(results, "n1", run, days)
        (place / "result.json").write_text("{")
        os.utime(place, (NOW - days * DAY,) * 2)
    found, refused = read(results)
    assert found == [] and len(refused) == 1 and "s-00000001" in refused[0]
    assert len(read(results, "n1")[1]) == 2
