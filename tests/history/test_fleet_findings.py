"""What new software did to a fleet, as a finding of the fleet: out of a history, beside the references that it makes stale."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli, history
from nearfar.history import fleet_findings, fleet_levels
from nearfar.history.store import History
from nearfar.site import systems
from tests.data.runs import golden, nightly

NOW = datetime(2026, 11, 25, 12, tzinfo=timezone.utc)
OLD: str = golden.raw("host_device_check", {})["node"]["software"]["driver"]
NEW = "590.12"
REFERENCES = f"""\
provenance: {{tuned: {{date: 2026-11-09, n: 6, stamp: {{driver: "{OLD}"}}}}}}
host_device_check:
  $index: [$dev.gpu.model]
  NVIDIA H200:
    sole.h2d: [55.5, -0.02, null, GB/s]
    sole.d2h: [55.5, -0.02, null, GB/s]
"""


def renewed(raw: dict[str, Any]) -> None:
    raw["node"]["software"]["driver"] = NEW


def fleet(folder: Path, upgraded: int, factor: float, nodes: int = 6) -> History:
    """Six nights before, four after, on which so many of the nodes have the new driver and its factor."""
    for day in range(10, 20):
        for number in range(nodes):
            new = day >= 16 and number < upgraded
            rate = (1 + number / 1000 + (day * 7 + number * 3) % 5 / 5000) * (factor if new else 1)
            run = nightly.run(
                folder / f"r{number}", {f"n{number}": rate}, f"2026-11-{day}", change=renewed if new else None
            )
            history.record(run, folder / "history")
    return History(folder / "history", lambda words: pytest.fail(words))


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "site"
    for name in ("systems", "references"):
        (place / name).mkdir(parents=True)
    (place / "references/redwood.yaml").write_text(REFERENCES)
    (place / "systems/redwood.yaml").write_text(
        'system: redwood\nhosts: ["n[0-9]"]\npartitions:\n  - {name: gpu, node_type: h200-x4-vm}\n'
    )
    monkeypatch.setenv("NEARFAR_SITE", str(place))
    systems.site.cache_clear()
    return place


@pytest.fixture(scope="module")
def costly(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A driver that costs 1.5 %, so far on five of six nodes."""
    return fleet(tmp_path_factory.mktemp("costly"), 5, 0.985)


def test_what_a_driver_costs_is_a_finding_of_the_fleet(costly: History) -> None:
    found = fleet_findings.report(costly, nightly.SYSTEM, NOW)
    (one,) = found.findings
    assert (one.subject, one.verdict, one.hard) == ("fleet", "DEGRADED", False)
    moved = one.fields["moved"]
    assert one.code == "software.worse"
    for way in ("H2D", "D2H"):
        assert any(re.fullmatch(rf"sole {way} −1\.\d % on 5 nodes", words) for words in moved), moved
    assert one.fields == {
        "new": f"driver {NEW}", "old": f"driver {OLD}", "nodes": 5, "of": 6, "system": "redwood", "moved": moved, "needed": 3,
    }  # fmt: skip
    assert fleet_levels.read(costly.directory, nightly.SYSTEM, "gpu") == found.levels, "the judge reads them there"


def test_rows_that_were_tuned_again_are_told_no_more(costly: History, site: Path) -> None:
    """The sixth node has the old driver still: it is what the new rows are stale for."""
    (site / "references/redwood.yaml").write_text(REFERENCES.replace(OLD, NEW))
    (one,) = fleet_findings.report(costly, nightly.SYSTEM, NOW).findings
    assert (one.fields["new"], one.fields["old"]) == (f"driver {OLD}", f"driver {NEW}")
    assert (one.fields["nodes"], one.fields["of"]) == (1, 6)


def test_a_driver_that_costs_nothing_is_a_note(tmp_path: Path) -> None:
    found = fleet_findings.report(fleet(tmp_path, 6, 1.0), nightly.SYSTEM, NOW)
    assert [(each.verdict, each.code) for each in found.findings] == [("not judged", "software.no_effect")]


def test_a_site_of_one_node_is_told_that_it_has_no_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    store = fleet(tmp_path, 1, 0.985, nodes=1)
    monkeypatch.setenv("NEARFAR_HISTORY", str(store.directory))
    monkeypatch.setattr(fleet_findings, "_now", lambda: NOW)
    assert cli.main(["history", "--shifts"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("redwood: no figure that 3 nodes or more had with two kinds of software")
    (finding,) = fleet_findings.report(store, nightly.SYSTEM, NOW).findings
    assert (finding.verdict, finding.code) == ("not judged", "software.effect_unknown")
    assert (finding.fields["nodes"], finding.fields["of"], finding.fields["new"]) == (1, 1, "driver 590.12")


def test_history_shows_shifts(costly: History, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("NEARFAR_HISTORY", str(costly.directory))
    monkeypatch.setattr(fleet_findings, "_now", lambda: NOW)
    assert cli.main(["history", "--shifts", "--system", "redwood"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["since", "software", "check", "row", "GPU", "before", "after", "change", "nodes"]
    assert any("sole.h2d" in line and "−1." in line and line.rstrip().endswith("6, 5") for line in lines)
    assert lines[-1].startswith("DEGRADED: the fleet: driver 590.12")
    assert cli.main(["history", "--shifts", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["findings"][0]["verdict"] == "DEGRADED"
    level = [each for each in told["levels"] if each["row"] == "sole.h2d"][-1]
    assert (level["software"]["driver"], level["nodes"], level["first_seen"]) == (NEW, 5, "2026-11-16")
    assert cli.main(["history", "--shifts", "--node", "n1"]) == 2
    assert "--node: --shifts is of a whole system; leave it out" in capsys.readouterr().err


def test_the_judge_follows_the_fleet(costly: History, site: Path) -> None:
    """The nodes' own figures after the driver, by the stale rows and what the history knows."""
    from nearfar.measurement.document import from_raw
    from nearfar.verdict import references

    fleet_findings.report(costly, nightly.SYSTEM, NOW)
    raw = golden.raw("host_device_check", {})
    renewed(raw)
    document = from_raw(raw)
    metrics = [m for m in measured(document) if m.name == "sole.n0_g0"]
    levels = fleet_levels.read(costly.directory, nightly.SYSTEM, "gpu")
    files = references.find("redwood", None, [site])
    (found,) = references.resolve(
        metrics, "host_device_check", files, document.node, stamp=raw["node"]["software"], levels=levels
    ).values()
    assert found is not None and found.stale_bounds == "moved"
    assert found.value == pytest.approx(55.5 * 0.985, rel=3e-3)
    assert "its fleet is at −1." in found.note and "with driver 590.12 (5 nodes)" in found.note


def measured(document: Any) -> Any:
    from nearfar import measurement

    return measurement.metrics(document, document.node)
