"""The text files, read by Prometheus' own parser: what they say of a run and of a look, and how they are written."""

from __future__ import annotations

import json
import math
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.base import CouldNotJudge
from nearfar.prometheus import METRICS, MetricsPage, catalogue, health_metrics, run_metrics
from tests.prometheus import made_runs

parser = pytest.importorskip("prometheus_client.parser")


def samples(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """By metric the labels and values, as Prometheus reads them; every metric is a gauge of the catalogue."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.type == "gauge" and family.documentation == METRICS[family.name].help
        for sample in family.samples:
            assert set(sample.labels) <= set(METRICS[sample.name].labels)
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    for name, these in found.items():
        series = [tuple(sorted(labels.items())) for labels, _ in these]
        assert len(set(series)) == len(series), f"{name}: node_exporter refuses a file with a series twice"
    return found


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["metrics", str(made_runs.run(tmp_path / "run"))]) == 0
    found = samples(capsys.readouterr().out)
    node = {"system": "vm", "node": "n1"}
    assert found["nearfar_run_start_timestamp_seconds"] == [(node, 1795165200.0)]
    assert found["nearfar_run_duration_seconds"] == [(node, 61.5)]
    verdicts = {labels["verdict"]: value for labels, value in found["nearfar_run_verdict"]}
    assert verdicts == {"FAIL": 1, "INDETERMINATE": 0, "DEGRADED": 0, "PASS": 0, "not judged": 0}
    checks = {labels["check"]: labels["verdict"] for labels, _ in found["nearfar_check_verdict"]}
    assert checks == {"host_device_check": "FAIL", "latency_check": "PASS", "topology_check": "FAIL"}
    # The worst of each path class and direction, in base units.
    group = {**node, "check": "host_device_check", "quantity": "copy", "path_class": "near"}
    h2d = {**group, "direction": "h2d"}
    assert found["nearfar_rate_bytes_per_second"] == [(h2d, 27.1e9), ({**group, "direction": "d2h"}, 50e9)]
    assert found["nearfar_rate_reference_bytes_per_second"] == [(h2d, 55e9)]
    assert found["nearfar_rate_lowest_bytes_per_second"] == [(h2d, 52.6e9)]
    [(labels, latency)] = found["nearfar_latency_seconds"]
    assert latency == 6.5e-6 and labels["quantity"] == "latency.copy"
    assert found["nearfar_latency_highest_seconds"][0][1] == 9e-6
    assert [(labels["subject"], labels["hard"]) for labels, _ in found["nearfar_finding"]] == [
        ("g2", "yes"),
        ("near.n0_g1", "no"),
    ]
    assert found["nearfar_findings"] == [({**node, "check": "topology_check", "verdict": "FAIL", "hard": "yes"}, 1)]
    assert "nearfar_share_ratio" not in found


def test_every_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["metrics", "--all", str(made_runs.run(tmp_path / "run"))]) == 0
    found = samples(capsys.readouterr().out)
    rates = {labels["subject"]: value for labels, value in found["nearfar_rate_bytes_per_second"]}
    assert rates == {"n0:g0": 55e9, "n0:g1": 27.1e9, "g0:n0": 50e9}
    assert [value for _, value in found["nearfar_share_ratio"]] == [0.5]


def test_a_node_of_a_sweep_is_called_as_slurm_calls_it(tmp_path: Path) -> None:
    folder = made_runs.run(tmp_path / "run")
    (folder / "result.json").write_text(json.dumps({"node": "gpu-001", "pack": "nightly"}))
    [(labels, _)] = samples(run_metrics.page(folder).text())["nearfar_run_info"]
    assert (labels["node"], labels["hostname"], labels["level"], labels["driver"]) == (
        "gpu-001",
        "n1",
        "nightly",
        "580",
    )


def test_a_run_of_which_a_case_is_missing_is_not_green(tmp_path: Path) -> None:
    folder = made_runs.run(tmp_path / "run")
    for path in (folder / "n1" / "host_device_check", folder / "n1" / "topology_check"):
        (path / "verdict.json").unlink()
        path.rmdir()
    raw = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**raw, "missing_cases": [{"check": "peer_check", "reason": "no"}]}))
    found = samples(run_metrics.page(folder).text())["nearfar_run_verdict"]
    assert [labels["verdict"] for labels, value in found if value] == ["INDETERMINATE"]


def test_what_is_modelled_is_no_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made_runs.run(tmp_path / "run", kind="modelled")
    assert cli.main(["metrics", str(folder), "--output", str(tmp_path)]) == 3
    assert "nothing was measured; modelled results and those of other tools are not exported" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.prom"))


def test_labels_that_hold_anything(tmp_path: Path) -> None:
    what = 'a "quoted" \\ one\nof two lines, ü, and ' + "long " * 100
    found = samples(run_metrics.page(made_runs.run(tmp_path / "run", what=what)).text())
    assert found["nearfar_finding"][0][0]["subject"] == what[:200]


def test_a_file_is_written_whole_and_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, run = tmp_path / "textfiles", made_runs.run(tmp_path / "run")
    folder.mkdir()
    old, fresh = folder / ".nearfar-run.prom.a1b2", folder / ".nearfar-run.prom.c3d4"
    for path in (old, fresh):
        path.write_text("half")
    os.utime(old, (time.time() - 7200,) * 2)
    monkeypatch.setattr(os, "umask", lambda mask: 0o077)
    assert cli.main(["metrics", str(run), "--output", str(folder)]) == 0
    place = folder / "nearfar-run.prom"
    assert stat.S_IMODE(place.stat().st_mode) == 0o644 and place.read_text().endswith("\n")
    assert sorted(path.name for path in folder.iterdir()) == [fresh.name, place.name], (
        "only its writer may still need it"
    )


def test_a_directory_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made_runs.run(tmp_path / "run")
    assert cli.main(["metrics", str(run), "--output", str(tmp_path / "none")]) == 3
    assert "none: no such directory; make it, as node_exporter reads it" in capsys.readouterr().err


def test_figures_that_are_none_and_series_that_come_twice() -> None:
    page = MetricsPage()
    for value in (None, math.nan, math.inf, 1.0, 2.0):
        page.add("nearfar_run_duration_seconds", value, node="n1")
    assert samples(page.text()) == {"nearfar_run_duration_seconds": [({"node": "n1"}, 1.0)]}
    with pytest.raises(KeyError, match="no label"):
        page.add("nearfar_run_duration_seconds", 1.0, host="n1")


def look(**parts: Any) -> dict[str, Any]:
    found = [
        {"subject": "look", "verdict": "INDETERMINATE", "hard": False, "reason": "w"},
        {"subject": "g2", "verdict": "FAIL", "hard": True, "reason": "w"},
    ]
    whole = {
        "schema": "nearfar-health/1", "run": "0badcafe", "node": "n1", "hostname": "n1.site", "system": None, "partition": "gpu",
        "time": "2026-11-20T09:00:00Z", "boot": None, "seconds": 0.4, "verdict": "FAIL", "findings": found,
        "notes": ["a"], "unread": ["b", "c"], "sources": {"pcie": {"seconds": 0.01, "said": ""}},
    }  # fmt: skip
    return {**whole, **parts}


def test_a_look(tmp_path: Path) -> None:
    found = samples(health_metrics.write(look(), tmp_path).read_text())
    node = {"node": "n1"}
    assert found["nearfar_health_timestamp_seconds"] == [(node, 1795165200.0)]
    assert found["nearfar_health_info"][0][0].keys() == {"node", "partition", "hostname", "version"}
    assert [labels["subject"] for labels, _ in found["nearfar_health_finding"]] == ["g2", "look"]
    assert [labels["verdict"] for labels, value in found["nearfar_health_verdict"] if value] == ["FAIL"]
    assert (found["nearfar_health_notes"], found["nearfar_health_unread"]) == ([(node, 1)], [(node, 2)])
    assert found["nearfar_health_source_duration_seconds"] == [({**node, "source": "pcie"}, 0.01)]


def test_a_look_with_thousands_of_findings_has_few_series() -> None:
    many = [{"subject": f"g{n}", "verdict": "DEGRADED", "hard": False, "reason": "w"} for n in range(5000)]
    bad = {"subject": "memory", "verdict": "FAIL", "hard": True, "reason": "w"}
    page = health_metrics.page(look(findings=[*many, bad]))
    found = samples(page.text())
    assert len(found["nearfar_health_finding"]) == catalogue.MOST_FINDINGS and sum(map(len, found.values())) < 60
    assert found["nearfar_health_finding"][0][0]["subject"] == "memory", "the worst first"


def test_the_catalogue_follows_prometheus_conventions() -> None:
    units = ("_seconds", "_bytes", "_bytes_per_second", "_ratio", "_info")
    for metric in METRICS.values():
        assert metric.name.startswith("nearfar_") and metric.help.endswith(".") and "\n" not in metric.help
        assert not metric.name.endswith(("_total", "_count", "_sum", "_bucket")), "those are of counters and histograms"
        if any(word in metric.name for word in ("second", "byte", "ratio", "duration", "timestamp")):
            assert metric.name.endswith(units)
        assert metric.labels and len(set(metric.labels)) == len(metric.labels)


def test_a_page_for_no_directory_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(CouldNotJudge):
        MetricsPage().write(tmp_path / "none", "x.prom")
