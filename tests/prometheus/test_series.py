"""How many series a site gets: what docs/deploy.md says of a real run, and of a thousand bad nodes."""

from __future__ import annotations

import re
import time
from pathlib import Path

from nearfar.base import Finding
from nearfar.prometheus import MetricsPage, run_metrics
from nearfar.slurm.act import ActResult
from nearfar.slurm.ledger import CheckRun, add_run
from nearfar.slurm.status import on_event
from tests.conftest import CHECKOUT
from tests.data.runs import h200
from tests.support.played_fleet import PlayedFleet

PAGE = " ".join((CHECKOUT / "docs" / "deploy.md").read_text().split())


def said(pattern: str) -> int:
    found = re.search(pattern, PAGE)
    assert found is not None, pattern
    return int(found[1].replace(",", ""))


def series(page: MetricsPage) -> int:
    return sum(not line.startswith("#") for line in page.text().splitlines())


def test_of_a_run_on_four_gpus(tmp_path: Path) -> None:
    folder = h200._run("h200-vm", h200.DATA / "h200-x4", tmp_path)
    for whole, pattern in ((False, r"a run has (\d+) series"), (True, r"has (\d+) of the same run")):
        assert abs(series(run_metrics.page(folder, whole)) / said(pattern) - 1) < 0.1


def test_of_a_thousand_bad_nodes(tmp_path: Path) -> None:
    names = tuple(f"n{number}" for number in range(1000))
    fleet = PlayedFleet(tmp_path, names)
    now = time.time()
    absent = Finding("g2", "FAIL", "absent", True, "gpu.missing")
    with fleet.ledger() as ledger, ledger.transaction():
        for name in names:
            add_run(ledger, CheckRun(name, "health", "0badcafe", now - 9, now - 8, "FAIL", (absent,), system="vm"))
    view = fleet.view()
    page = on_event.metrics_page(ActResult(view), 0)
    assert abs(series(page) / said(r"about ([\d,]+) series when all of 1,000 nodes") - 1) < 0.1
