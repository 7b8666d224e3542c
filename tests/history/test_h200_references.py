"""The shipped references of one, two and four H200s are what ``nearfar tune`` makes of the shipped documents."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import cli, measurement, question
from nearfar.verdict import judge, references
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import Reference
from tests.conftest import CHECKOUT
from tests.data.runs import h200


@pytest.fixture(scope="module")
def real_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return h200.write(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("system, nodes", [("h200-vm", 3), ("h200-x2-vm", 7), ("h200-x1-vm", 5)])
def test_the_command_in_their_provenance_makes_them(
    real_runs: Path, system: str, nodes: int, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    shipped = CHECKOUT / f"site/references/{system}.yaml"
    site = tmp_path / "site"
    for kind in ("systems", "nodes"):
        shutil.copytree(CHECKOUT / "site" / kind, site / kind)
    written = site / f"references/{system}.yaml"
    written.parent.mkdir()
    head = "".join(line for line in shipped.read_text().splitlines(keepends=True) if line.startswith("#"))
    written.write_text(f'{head}provenance: {{tuned: {{date: "2026-11-20", first: "2026-11-20", n: 1}}}}\n')
    monkeypatch.setenv("NEARFAR_SITE", str(site))
    monkeypatch.setenv("NEARFAR_HISTORY", str(real_runs))
    assert cli.main(["tune", "--system", system, "--apply"]) == 0
    assert f"figures of {nodes} host" in capsys.readouterr().err
    assert written.read_text() == shipped.read_text()


FAULTS = [
    ("gemm_check", 1.0, "PASS"),
    ("gemm_check", 0.97, "DEGRADED"),
    ("gemm_check", 0.95, "FAIL"),
    ("host_device_check", 1.0, "PASS"),
    ("host_device_check", 0.96, "DEGRADED"),
    ("host_device_check", 0.85, "FAIL"),
]


@pytest.mark.parametrize("check, share, verdict", FAULTS)
def test_they_accept_a_healthy_machine_that_they_are_not_of_and_no_slow_one(
    check: str, share: float, verdict: str
) -> None:
    """``share``: how fast the machine is, as a part of what it was. Pageable copies, whose row has no limit, keep no node out."""
    document = measurement.load(CHECKOUT / f"tests/data/h200-x1-acceptance/{check}.json")
    metrics = question.named(check).figures(document, document.node)
    files = references.find("h200-x1-vm", None, [CHECKOUT / "site"])
    found = {
        name: _stricter(each, share) for name, each in references.resolve(metrics, check, files, document.node).items()
    }
    subject = CaseInfo(check, "h200-x1-vm", "gpu", "system", "vm", "2026-11-23T15:54:30Z")
    judged = judge(document, found, subject=subject, metrics=metrics, acceptance=True)
    assert judged.verdict == verdict, judged.reasons


def _stricter(reference: Reference | None, share: float) -> Reference | None:
    """What a figure has to be, so that one which is as it was is judged as if it were ``share`` of that."""
    if reference is None or reference.degraded_below is None:
        return reference
    return replace(reference, value=reference.value / share, degraded_below=reference.degraded_below / share)
