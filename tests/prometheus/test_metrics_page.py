"""Pages of the manual name no metric that there is not, and every alert."""

from __future__ import annotations

import re

from nearfar.prometheus import METRICS
from tests.conftest import CHECKOUT


def test_pages_name_no_metric_that_there_is_not() -> None:
    for path in (CHECKOUT / "docs").rglob("*.md"):
        for name in re.findall(
            r"\bnearfar_[a-z_]+(?:seconds|ratio|bytes|info|verdict|findings?|nodes?|drains)\b", path.read_text()
        ):
            assert name in METRICS, path


def test_the_manual_has_every_alert() -> None:
    rules = (CHECKOUT / "site/templates/monitoring/prometheus-rules.yml").read_text()
    pages = "".join(path.read_text() for path in (CHECKOUT / "docs").rglob("*.md"))
    assert set(re.findall(r"alert: (\w+)", rules)) <= set(re.findall(r"`(Nearfar\w+)`", pages))
