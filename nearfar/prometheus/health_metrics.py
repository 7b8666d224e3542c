"""A look of the health check as Prometheus' text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nearfar import __version__
from nearfar.base import VERDICTS, Finding, utc_time

from .catalogue import HEALTH, MOST_FINDINGS
from .exposition import MetricsPage


def page(finding: Mapping[str, Any]) -> MetricsPage:
    """The metrics of a look, as ``nearfar-health/1`` has it."""
    made, whose = MetricsPage(), {"system": finding["system"], "node": str(finding["node"])}
    made.add(
        "nearfar_health_info", 1, **whose, partition=finding["partition"],
        hostname=finding["hostname"], version=__version__,
    )  # fmt: skip
    made.add("nearfar_health_timestamp_seconds", utc_time(finding["time"]).timestamp(), **whose)
    made.add("nearfar_health_duration_seconds", finding["seconds"], **whose)
    made.one_of("nearfar_health_verdict", VERDICTS, finding["verdict"], **whose)
    findings = [Finding.from_raw(entry) for entry in finding["findings"]]
    for (verdict, hard), count in Counter((entry.verdict, _word(entry.hard)) for entry in findings).items():
        made.add("nearfar_health_findings", count, **whose, verdict=verdict, hard=hard)
    for entry in sorted(findings, key=lambda entry: (VERDICTS.index(entry.verdict), not entry.hard))[:MOST_FINDINGS]:
        labels = {"subject": entry.subject, "verdict": entry.verdict, "hard": _word(entry.hard)}
        made.add("nearfar_health_finding", 1, **whose, **labels)
    made.add("nearfar_health_notes", len(finding.get("notes", ())), **whose)
    made.add("nearfar_health_unread", len(finding.get("unread", ())), **whose)
    for name, source in finding.get("sources", {}).items():
        made.add("nearfar_health_source_duration_seconds", source["seconds"], **whose, source=name)
    return made


def write(finding: Mapping[str, Any], folder: Path) -> Path:
    """Write it below a directory. Raises ``CouldNotJudge`` where that is impossible."""
    return page(finding).write(folder, HEALTH)


def _word(hard: bool) -> str:
    return "yes" if hard else "no"
