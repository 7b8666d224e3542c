"""Rows that were tuned with other software, under a real ReFrame: the fleet's level out of the history reaches the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.history import fleet_levels
from nearfar.history.fleet_levels import FleetLevel
from tests.checks.test_looks import ran, verdict

MODEL = "Tesla M2070"
ROWS = """\
provenance: {tuned: {date: 2026-10-01, n: 45, stamp: {driver: "580.1"}}}
host_device_check:
  near.h2d: [VALUE, -0.02, null, GB/s]
"""


@pytest.mark.parametrize("level, bounds", [(None, "widened"), (5.86, "moved")])
def test_a_stale_row_follows_its_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: float | None, bounds: str
) -> None:
    """All GPUs are 4 % below rows of another driver: FAIL by it, were it fresh."""
    monkeypatch.setenv("NEARFAR_HISTORY", str(tmp_path / "history"))
    (tmp_path / "site/references").mkdir(parents=True)
    (tmp_path / "site/references/fake.yaml").write_text(ROWS.replace("VALUE", "6.11"))
    if level is not None:
        one = FleetLevel(
            "p",
            "host_device_check",
            "near.h2d",
            MODEL,
            "GB/s",
            {"driver": "1.0"},
            level,
            level,
            level,
            45,
            "2026-11-01",
        )
        fleet_levels.write(tmp_path / "history", "fake", [one])
    judged = verdict(ran(tmp_path, "good") / "host_device_check")
    found = {m["name"]: m for m in judged["metrics"] if m["question"] == "h2d" and m["path_class"] == "near"}
    assert found and {m["reference"]["stale_bounds"] for m in found.values()} == {bounds}
    assert judged["verdict"] == "PASS", judged["reasons"]
