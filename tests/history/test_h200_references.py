"""The shipped references of one, two and four H200s are what ``nearfar tune`` makes of the shipped documents."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.base.files import CHECKOUT
from tests.data.runs import h200


@pytest.fixture(scope="module")
def real_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return h200.write(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("system, nodes", [("h200-vm", 3), ("h200-x2-vm", 7), ("h200-x1-vm", 2)])
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
    written.write_text(f'{head}provenance: {{tuned: {{date: "2026-11-20", n: 1}}}}\n')
    monkeypatch.setenv("NEARFAR_SITE", str(site))
    monkeypatch.setenv("NEARFAR_HISTORY", str(real_runs))
    assert cli.main(["tune", "--system", system, "--apply"]) == 0
    assert f"figures of {nodes} host" in capsys.readouterr().err
    assert written.read_text() == shipped.read_text()
