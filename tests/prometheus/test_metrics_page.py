"""docs/reference/metrics.md names every metric with its labels and its words, and no other; hooks.md every key."""

from __future__ import annotations

import re

from nearfar.prometheus import METRICS
from nearfar.slurm.telling import on_event
from tests.conftest import CHECKOUT


def test_the_page_has_every_metric() -> None:
    page = (CHECKOUT / "docs" / "reference" / "metrics.md").read_text()
    found = {}
    for section in page.split("\n## ")[1:]:
        file = re.match(r"`([a-z-]+\.prom)`", section)
        assert file is not None
        for name, labels, words in re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", section, re.M):
            found[name] = (tuple(re.findall(r"`(\w+)`", labels)), words, file[1])
    assert found == {metric.name: (metric.labels, metric.help, metric.file) for metric in METRICS.values()}


def test_the_pages_name_no_metric_that_is_not() -> None:
    for path in ("docs/reference/hooks.md", "docs/reference/metrics.md"):
        for name in re.findall(r"nearfar_[a-z_]+", (CHECKOUT / path).read_text()):
            assert name in METRICS, path


def test_the_page_of_the_hooks_has_every_key() -> None:
    page = (CHECKOUT / "docs" / "reference" / "hooks.md").read_text()
    table = page.split("```json")[0]
    keys = set(re.findall(r"`([a-z_]+)`", " ".join(re.findall(r"^\| (`.*?) \|", table, re.M))))
    finding = {"check", "run", "finding", "why", "source"}
    assert keys == finding | {"schema", "event", "id", "attempt", "time", "system", "node", "host", "reason", "by_act"}
    assert on_event.SCHEMA in page and f"all calls of one `act` have {on_event.TOGETHER:g} s" in page


def test_the_page_names_alerts_of_the_rules() -> None:
    rules = (CHECKOUT / "site/templates/monitoring/prometheus-rules.yml").read_text()
    page = (CHECKOUT / "docs" / "deploy.md").read_text()
    named = set(re.findall(r"`(Nearfar\w+)`", page))
    assert named and named <= set(re.findall(r"alert: (\w+)", rules))
